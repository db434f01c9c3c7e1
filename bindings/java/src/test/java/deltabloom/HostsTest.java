package deltabloom;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ConfigOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.Filter;
import org.rocksdb.Options;
import org.rocksdb.OptionsUtil;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.Statistics;
import org.rocksdb.TickerType;

/** The real RocksJava with Deltabloom's filters. */
class HostsTest {
  private static final int KEYS = 300_000;
  // The rate is .0011 at 10 bits per key, and less for tables of upper levels; of RocksDB's Bloom
  // filter .0095.
  private static final double MOST_FALSE_POSITIVES = .0015 * KEYS;

  @TempDir Path folder;

  private static byte[] key(int i) {
    return String.format("user%09d", i).getBytes(StandardCharsets.UTF_8);
  }

  private static void fill(Path path, Filter filter) throws RocksDBException {
    try (Options options = new Options().setCreateIfMissing(true)) {
      options.setTableFormatConfig(new BlockBasedTableConfig().setFilterPolicy(filter));
      try (RocksDB db = RocksDB.open(options, path.toString())) {
        for (int i = 0; i < KEYS; ++i) db.put(key(2 * i), key(i));
        db.compactRange();
        if (filter instanceof DeltabloomFilter) {
          assertTrue(Deltabloom.filters(options).contains("bits_per_key=10"));
          assertTrue(Deltabloom.filters(db).contains("bits_per_key=10"));
        }
      }
    }
  }

  /** All present keys are found; returns the false positives of as many absent ones. */
  private static long lookUp(RocksDB db, Statistics statistics) throws RocksDBException {
    for (int i = 0; i < KEYS; ++i) assertArrayEquals(key(i), db.get(key(2 * i)));
    final long useful = statistics.getTickerCount(TickerType.BLOOM_FILTER_USEFUL);
    for (int i = 0; i < KEYS; ++i) assertNull(db.get(key(2 * i + 1)));
    // The last key is beyond all tables.
    return KEYS - 1 - (statistics.getTickerCount(TickerType.BLOOM_FILTER_USEFUL) - useful);
  }

  private static long lookUp(Path path, Filter filter) throws RocksDBException {
    try (Statistics statistics = new Statistics();
        Options options = new Options().setStatistics(statistics)) {
      options.setTableFormatConfig(new BlockBasedTableConfig().setFilterPolicy(filter));
      try (RocksDB db = RocksDB.open(options, path.toString())) {
        return lookUp(db, statistics);
      }
    }
  }

  @Test
  void filtersSaveReadsAndLoseNoKey() throws RocksDBException {
    try (Filter filter = new DeltabloomFilter("deltabloom:10")) {
      fill(folder, filter);
      final long positives = lookUp(folder, filter);
      System.out.println("false positives of " + KEYS + " absent keys: " + positives);
      assertTrue(positives < MOST_FALSE_POSITIVES, "false positives: " + positives);
    }
    assertTrue(Deltabloom.statistics("json").contains("\"layout\":\"compact\""));
    assertTrue(Deltabloom.statistics("prometheus").contains("deltabloom_filter_lookups_total"));
    reopenFromItsOptionsFile();
  }

  private void reopenFromItsOptionsFile() throws RocksDBException {
    final List<ColumnFamilyDescriptor> families = new ArrayList<>();
    final List<ColumnFamilyHandle> handles = new ArrayList<>();
    try (DBOptions options = new DBOptions();
        Statistics statistics = new Statistics();
        ConfigOptions config = new ConfigOptions()) {
      config.setIgnoreUnknownOptions(false);
      OptionsUtil.loadLatestOptions(config, folder.toString(), options, families);
      options.setStatistics(statistics);
      try (RocksDB db = RocksDB.open(options, folder.toString(), families, handles)) {
        assertTrue(Deltabloom.filters(db, handles.get(0)).contains("id=deltabloom"));
        final long positives = lookUp(db, statistics);
        assertTrue(positives < MOST_FALSE_POSITIVES, "false positives: " + positives);
        handles.forEach(ColumnFamilyHandle::close);
      }
    }
  }

  @Test
  void tablesPassToRocksDBsFiltersAndBack() throws RocksDBException {
    RocksDB.loadLibrary();  // BloomFilter does not
    try (Filter bloom = new BloomFilter(10);
        Filter ours = new DeltabloomFilter("deltabloom:10")) {
      fill(folder, bloom);
      final long before = lookUp(folder, bloom);
      assertEquals(before, lookUp(folder, ours));
      fill(folder, ours);
      // RocksDB without Deltabloom finds every key, and filters nothing.
      assertEquals(KEYS - 1, lookUp(folder, bloom));
    }
  }

  @Test
  void wrongTextsAreErrors() throws RocksDBException {
    final String[][] cases = {
      {"deltabloom:nan", "bits_per_key 'nan' is not valid: use 0 to 1000"},
      {"deltabloom:10:cuckoo", "layout 'cuckoo' is not valid"},
      {"bloomfilter:10", "'bloomfilter:10' is no filter policy of Deltabloom"},
      {"", "'' is no filter policy of Deltabloom: RocksDB takes it for none"},
    };
    for (String[] wrong : cases) {
      for (int i = 0; i < 2; ++i) {
        final boolean check = i == 0;
        final RocksDBException thrown =
            assertThrows(
                RocksDBException.class,
                () -> {
                  if (check) Deltabloom.check(wrong[0]);
                  else new DeltabloomFilter(wrong[0]).close();
                });
        assertTrue(thrown.getMessage().startsWith("deltabloom: "), thrown.getMessage());
        assertTrue(thrown.getMessage().contains(wrong[1]), thrown.getMessage());
      }
    }
    assertTrue(Deltabloom.check("deltabloom:12").contains("bits_per_key=12"));
  }

  @Test
  void anotherPolicyOrNoneIsAnError() throws RocksDBException {
    RocksDB.loadLibrary();
    try (Options none = new Options();
        Filter bloom = new BloomFilter(10);
        Options another =
            new Options()
                .setTableFormatConfig(new BlockBasedTableConfig().setFilterPolicy(bloom))) {
      assertTrue(
          assertThrows(RocksDBException.class, () -> Deltabloom.filters(none))
              .getMessage()
              .contains("there is no filter policy"));
      assertTrue(
          assertThrows(RocksDBException.class, () -> Deltabloom.filters(another))
              .getMessage()
              .contains("is not Deltabloom's, but"));
    }
  }
}
