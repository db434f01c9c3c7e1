import java.nio.charset.StandardCharsets;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.CompressionType;
import org.rocksdb.Filter;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.Statistics;

/** Usage: java RocksJava PATH (fill|read): a program with RocksDB's Bloom filter. */
public final class RocksJava {
  private static final int KEYS = 200_000;

  private static byte[] key(int i) {
    return String.format("user%09d", i).getBytes(StandardCharsets.UTF_8);
  }

  public static void main(String[] arguments) throws RocksDBException {
    RocksDB.loadLibrary();
    try (Filter filter = new BloomFilter(10);
        Statistics statistics = new Statistics();
        Options options =
            new Options()
                .setCreateIfMissing(true)
                .setCompressionType(CompressionType.NO_COMPRESSION)
                .setStatistics(statistics)) {
      options.setTableFormatConfig(new BlockBasedTableConfig().setFilterPolicy(filter));
      try (RocksDB db = RocksDB.open(options, arguments[0])) {
        if (arguments[1].equals("fill")) {
          for (int i = 0; i < KEYS; ++i) db.put(key(2 * i), key(i));
          db.compactRange();
        }
        int lost = 0;
        for (int i = 0; i < KEYS; ++i) if (db.get(key(2 * i)) == null) ++lost;
        // The last odd key is beyond all tables.
        for (int i = 0; i + 1 < KEYS; ++i) {
          if (db.get(key(2 * i + 1)) != null) throw new AssertionError("found " + i);
        }
        Answer.print(lost, statistics);
      }
    }
  }
}
