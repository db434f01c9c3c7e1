package deltabloom;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Objects;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;

/**
 * Deltabloom in the RocksJava of this process. Every function loads RocksJava's native library and
 * the module for its version first, if that has not been done. If there is no module, or it does
 * not fit, they throw a RocksDBException that says what is missing and how to build it: the program
 * may then go on with a BloomFilter.
 *
 * <p>The module is searched in the folder that the system property deltabloom.modules names, in
 * that of the environment variable DELTABLOOM_MODULES, in /usr/local/lib/deltabloom and
 * /usr/lib/deltabloom. All functions are thread-safe.
 */
public final class Deltabloom {
  private static final String LIBRARY = "libdeltabloom_java.so";
  private static boolean loaded;

  private Deltabloom() {}

  /**
   * Registers the policy with RocksDB, so that the texts in OPTIONS files may name it: call it
   * before OptionsUtil.loadLatestOptions(). RocksDB silently takes an unknown policy for none.
   */
  public static synchronized void load() throws RocksDBException {
    if (loaded) return;
    RocksDB.loadLibrary();
    loadLibrary();
    loadModule(System.getProperty("deltabloom.modules"));
    loaded = true;
  }

  /**
   * Returns what the text of a filter policy ("deltabloom:10"), or of a collector of range filters,
   * means, with all its options. Throws if it is wrong.
   */
  public static String check(String text) throws RocksDBException {
    load();
    return checkText(Objects.requireNonNull(text));
  }

  /**
   * Returns the text of the policy that the options have. Throws if they have none, or one that is
   * not Deltabloom's.
   */
  public static String filters(Options options) throws RocksDBException {
    load();
    return filtersOfOptions(options.getNativeHandle());
  }

  /** Does the same for the default column family of an open database. */
  public static String filters(RocksDB db) throws RocksDBException {
    load();
    return filtersOfDatabase(db.getNativeHandle(), 0);
  }

  /** Does the same for a column family of an open database. */
  public static String filters(RocksDB db, ColumnFamilyHandle family) throws RocksDBException {
    load();
    return filtersOfDatabase(db.getNativeHandle(), family.getNativeHandle());
  }

  /**
   * Returns the statistics of all filters in this process; format is "json", "prometheus" or
   * "text".
   */
  public static String statistics(String format) throws RocksDBException {
    load();
    return statisticsIn(Objects.requireNonNull(format));
  }

  static long policy(String text) throws RocksDBException {
    load();
    return newPolicy(Objects.requireNonNull(text));
  }

  // Takes the library from this class's archive.
  private static void loadLibrary() throws RocksDBException {
    final String name = System.getProperty("os.arch") + "/" + LIBRARY;
    try (InputStream in = Deltabloom.class.getResourceAsStream(name)) {
      if (in == null) {
        throw new RocksDBException(
            "deltabloom: no filters of Deltabloom: this archive has no native library for "
                + System.getProperty("os.arch")
                + "; build it on such a machine");
      }
      final Path file = Files.createTempFile("deltabloom", ".so");
      try {
        Files.copy(in, file, StandardCopyOption.REPLACE_EXISTING);
        System.load(file.toString());
      } finally {
        Files.delete(file);
      }
    } catch (IOException | UnsatisfiedLinkError failure) {
      throw new RocksDBException(
          "deltabloom: no filters of Deltabloom: its native library does not load from the folder "
              + System.getProperty("java.io.tmpdir")
              + " (java.io.tmpdir): "
              + failure.getMessage());
    }
  }

  private static native void loadModule(String folder) throws RocksDBException;

  private static native long newPolicy(String text) throws RocksDBException;

  private static native String checkText(String text) throws RocksDBException;

  private static native String filtersOfOptions(long options) throws RocksDBException;

  private static native String filtersOfDatabase(long db, long family) throws RocksDBException;

  private static native String statisticsIn(String format) throws RocksDBException;
}
