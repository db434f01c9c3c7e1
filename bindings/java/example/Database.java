import deltabloom.Deltabloom;
import deltabloom.DeltabloomFilter;
import java.nio.charset.StandardCharsets;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.Filter;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;

/** Usage: java Database.java PATH, with the archives of Deltabloom and RocksJava. */
public final class Database {
  private static final int KEYS = 100_000;

  private static byte[] key(int i) {
    return String.format("user%09d", i).getBytes(StandardCharsets.UTF_8);
  }

  public static void main(String[] arguments) throws RocksDBException {
    try (Filter filter = new DeltabloomFilter("deltabloom:10");
        Options options = new Options().setCreateIfMissing(true)) {
      options.setTableFormatConfig(new BlockBasedTableConfig().setFilterPolicy(filter));
      try (RocksDB db = RocksDB.open(options, arguments[0])) {
        System.out.println("filters: " + Deltabloom.filters(db));
        for (int i = 0; i < KEYS; ++i) db.put(key(2 * i), key(i));
        db.compactRange();
        int found = 0;
        for (int i = 0; i < 2 * KEYS; ++i) {
          if (db.get(key(i)) != null) ++found;
        }
        System.out.println(found + " of " + KEYS + " keys found");
        System.out.print(Deltabloom.statistics("text"));
      }
    }
  }
}
