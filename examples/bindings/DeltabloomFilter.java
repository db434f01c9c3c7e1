import org.rocksdb.Filter;

/**
 * Deltabloom's policy for BlockBasedTableConfig.setFilterPolicy() of a RocksJava
 * that loads the shared librocksdb. The native half is deltabloom_filter.cc.
 */
public final class DeltabloomFilter extends Filter {
  static {
    System.loadLibrary("deltabloom_filter");
  }

  /** options: as an OPTIONS file names them, such as "deltabloom:10". */
  public DeltabloomFilter(String options) {
    super(newPolicy(options));
  }

  private static native long newPolicy(String options);
}
