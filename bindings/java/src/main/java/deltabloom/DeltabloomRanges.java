package deltabloom;

import java.util.Objects;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.RocksObject;

/**
 * The range filters of one column family: makes those of its tables, and the iterators of its
 * scans, which skip the tables that hold no key of the range. Thread-safe; databases and iterators
 * keep what they need of it, so it may be closed at any time after its last call.
 */
public final class DeltabloomRanges extends RocksObject {
  /** Options are a text: "prefixes=':'", or "bits_per_key=8;prefixes=8,9". */
  public DeltabloomRanges(String options) throws RocksDBException {
    super(loadAndCreate(Objects.requireNonNull(options)));
  }

  /** Adds the collector, before the database is opened. */
  public void addTo(Options options) throws RocksDBException {
    addToOptions(handle(), options.getNativeHandle());
  }

  /** Does the same for a column family, whose options may be those of an OPTIONS file. */
  public void addTo(ColumnFamilyOptions options) throws RocksDBException {
    addToFamily(handle(), options.getNativeHandle());
  }

  /**
   * Returns an iterator over the keys from lower on and below upper, which may be null. It is used
   * and closed like any other of RocksDB, but it owns copies of its bounds.
   */
  public RocksIterator newIterator(
      RocksDB db, ColumnFamilyHandle family, ReadOptions options, byte[] lower, byte[] upper)
      throws RocksDBException {
    return new Scan(db, scan(db, family, options, lower, upper, false));
  }

  /** Does the same for the keys that begin with prefix. */
  public RocksIterator newPrefixIterator(
      RocksDB db, ColumnFamilyHandle family, ReadOptions options, byte[] prefix)
      throws RocksDBException {
    return new Scan(db, scan(db, family, options, prefix, null, true));
  }

  /** Returns what its scans did; format is "json", "prometheus" or "text". */
  public String statistics(String format) throws RocksDBException {
    return statisticsIn(handle(), Objects.requireNonNull(format));
  }

  // RocksJava calls the functions of iterators that are virtual in C++, so it takes any.
  private static final class Scan extends RocksIterator {
    Scan(RocksDB db, long iterator) {
      super(db, iterator);
    }
  }

  private static long loadAndCreate(String options) throws RocksDBException {
    Deltabloom.load();
    return create(options);
  }

  private long handle() {
    if (!isOwningHandle()) throw new IllegalStateException("these range filters are closed");
    return nativeHandle_;
  }

  private long scan(
      RocksDB db,
      ColumnFamilyHandle family,
      ReadOptions options,
      byte[] from,
      byte[] to,
      boolean isPrefix)
      throws RocksDBException {
    return newScan(
        handle(),
        db.getNativeHandle(),
        family.getNativeHandle(),
        options.getNativeHandle(),
        Objects.requireNonNull(from),
        to,
        isPrefix);
  }

  @Override
  protected void disposeInternal(long handle) {
    destroy(handle);
  }

  private static native long create(String options) throws RocksDBException;

  private static native void destroy(long ranges);

  private static native void addToOptions(long ranges, long options) throws RocksDBException;

  private static native void addToFamily(long ranges, long options) throws RocksDBException;

  private static native long newScan(
      long ranges, long db, long family, long options, byte[] from, byte[] to, boolean isPrefix)
      throws RocksDBException;

  private static native String statisticsIn(long ranges, String format) throws RocksDBException;
}
