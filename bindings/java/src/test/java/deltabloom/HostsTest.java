package deltabloom;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.CompactionStyle;
import org.rocksdb.ConfigOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.Filter;
import org.rocksdb.FlushOptions;
import org.rocksdb.Options;
import org.rocksdb.OptionsUtil;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
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

  private static final int FOLDERS = 10_000;

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** Keys of every second folder, in tables that overlap. */
  private static void fillFolders(RocksDB db) throws RocksDBException {
    try (FlushOptions flush = new FlushOptions()) {
      for (int table = 0; table < 4; ++table) {
        for (int i = table; i < FOLDERS; i += 4) {
          for (int j = 0; j < 5; ++j) db.put(bytes(String.format("%06d:%d", 2 * i, j)), key(i));
        }
        db.flush(flush);
      }
    }
  }

  private static List<String> keysOf(RocksIterator scan, boolean backward) throws RocksDBException {
    final List<String> keys = new ArrayList<>();
    try {
      if (backward) scan.seekToLast();
      else scan.seekToFirst();
      while (scan.isValid()) {
        keys.add(new String(scan.key(), StandardCharsets.UTF_8));
        if (backward) scan.prev();
        else scan.next();
      }
      scan.status();
    } finally {
      scan.close();
    }
    return keys;
  }

  /** Scans all folders, and as many that are not there, in three ways. */
  private static void scanFolders(RocksDB db, ColumnFamilyHandle family, DeltabloomRanges ranges)
      throws RocksDBException {
    try (ReadOptions options = new ReadOptions()) {
      for (int i = 0; i < 2 * FOLDERS; ++i) {
        final String folder = String.format("%06d:", i);
        final byte[] lower = bytes(folder);
        final byte[] upper = bytes(String.format("%06d;", i));
        final List<String> expected = new ArrayList<>();
        for (int j = 0; j < 5 && i % 2 == 0; ++j) expected.add(folder + j);
        assertEquals(
            expected, keysOf(ranges.newIterator(db, family, options, lower, upper), false));
        assertEquals(
            expected, keysOf(ranges.newPrefixIterator(db, family, options, lower), false));
        Collections.reverse(expected);
        assertEquals(expected, keysOf(ranges.newIterator(db, family, options, lower, upper), true));
      }
      final String last = String.format("%06d:", 2 * FOLDERS - 2);
      assertEquals(
          5, keysOf(ranges.newIterator(db, family, options, bytes(last), null), false).size());
    }
  }

  private static long count(DeltabloomRanges ranges, String name) throws RocksDBException {
    final Matcher found =
        Pattern.compile("\"" + name + "\":(\\d+)").matcher(ranges.statistics("json"));
    assertTrue(found.find(), name);
    return Long.parseLong(found.group(1));
  }

  private static void assertTablesAreSkipped(DeltabloomRanges ranges) throws RocksDBException {
    // Of four tables, a scan of a folder needs one, and one of no folder none. The rate of false
    // positives is .02 at 8 bits per prefix.
    final long tables = count(ranges, "tables");
    final long rejected = count(ranges, "tables_rejected");
    System.out.println("range filters rejected " + rejected + " of " + tables + " tables");
    assertTrue(rejected > .85 * (tables - 3 * FOLDERS), rejected + " of " + tables);
    assertEquals(0, count(ranges, "tables_without_filter"));
    assertEquals(6 * FOLDERS + 1, count(ranges, "scans"));
  }

  @Test
  void rangeFiltersSkipTablesAndLoseNoKey() throws RocksDBException {
    try (DeltabloomRanges ranges = new DeltabloomRanges("prefixes=':'");
        Options options =
            new Options()
                .setCreateIfMissing(true)
                .setCompactionStyle(CompactionStyle.NONE)
                .setTableFormatConfig(new BlockBasedTableConfig())) {
      ranges.addTo(options);
      try (RocksDB db = RocksDB.open(options, folder.toString())) {
        fillFolders(db);
        scanFolders(db, db.getDefaultColumnFamily(), ranges);
        assertTablesAreSkipped(ranges);
      }
      assertEquals(4, count(ranges, "filters_built"));
    }
    // From its OPTIONS file, which has the collector.
    final List<ColumnFamilyDescriptor> families = new ArrayList<>();
    final List<ColumnFamilyHandle> handles = new ArrayList<>();
    try (DBOptions options = new DBOptions();
        ConfigOptions config = new ConfigOptions();
        DeltabloomRanges ranges = new DeltabloomRanges("prefixes=':'")) {
      config.setIgnoreUnknownOptions(false);
      OptionsUtil.loadLatestOptions(config, folder.toString(), options, families);
      ranges.addTo(families.get(0).getOptions());
      try (RocksDB db = RocksDB.open(options, folder.toString(), families, handles)) {
        scanFolders(db, handles.get(0), ranges);
        assertTablesAreSkipped(ranges);
        handles.forEach(ColumnFamilyHandle::close);
      }
    }
  }

  @Test
  void rangeFiltersMayBeClosedBeforeTheirIterators() throws RocksDBException {
    final DeltabloomRanges ranges = new DeltabloomRanges("prefixes=':'");
    try (Options options = new Options().setCreateIfMissing(true);
        ReadOptions read = new ReadOptions()) {
      ranges.addTo(options);
      try (RocksDB db = RocksDB.open(options, folder.toString())) {
        fillFolders(db);
        final RocksIterator scan =
            ranges.newPrefixIterator(
                db, db.getDefaultColumnFamily(), read, bytes(String.format("%06d:", 4)));
        ranges.close();
        ranges.close();
        assertEquals(5, keysOf(scan, false).size());
        assertThrows(IllegalStateException.class, () -> ranges.statistics("json"));
      }
    }
  }

  @Test
  void wrongTextsOfRangeFiltersAreErrors() {
    final RocksDBException thrown =
        assertThrows(RocksDBException.class, () -> new DeltabloomRanges("bits_per_key=1").close());
    assertTrue(thrown.getMessage().startsWith("deltabloom: "), thrown.getMessage());
    assertTrue(
        thrown.getMessage().contains("bits_per_key = 1 is out of range: use 2 to 1000"),
        thrown.getMessage());
    assertThrows(NullPointerException.class, () -> new DeltabloomRanges(null).close());
    assertThrows(NullPointerException.class, () -> new DeltabloomFilter(null).close());
    assertThrows(NullPointerException.class, () -> Deltabloom.check(null));
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
