package deltabloom;

import org.rocksdb.Filter;
import org.rocksdb.RocksDBException;

/** Deltabloom's filter policy, for BlockBasedTableConfig.setFilterPolicy(). */
public final class DeltabloomFilter extends Filter {
  /**
   * Makes the policy that an OPTIONS file names by this text: "deltabloom:10", or
   * "id=deltabloom;bits_per_key=10;layout=compact". Throws if the text is wrong, or if there is no
   * module for this RocksDB (see Deltabloom).
   */
  public DeltabloomFilter(String text) throws RocksDBException {
    super(Deltabloom.policy(text));
  }
}
