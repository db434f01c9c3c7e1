import org.rocksdb.Statistics;
import org.rocksdb.TickerType;

/** What the other programs here print for run.sh. */
final class Answer {
  static void print(long lost, Statistics statistics) {
    System.out.println(
        "lost=" + lost
            + " false_positives="
            + (statistics.getTickerCount(TickerType.BLOOM_FILTER_FULL_POSITIVE)
                - statistics.getTickerCount(TickerType.BLOOM_FILTER_FULL_TRUE_POSITIVE))
            + " useful=" + statistics.getTickerCount(TickerType.BLOOM_FILTER_USEFUL));
  }

  private Answer() {}
}
