import java.nio.file.Path;
import java.util.Collection;
import java.util.concurrent.CountDownLatch;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.state.rocksdb.RocksDBOptionsFactory;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.Statistics;

/**
 * Usage: java Flink PATH (fill|read): a job with keyed state in RocksDB. Its end is a native
 * savepoint in PATH, from which `read` begins.
 */
public final class Flink {
  private static final long KEYS = 200_000;
  private static final CountDownLatch DONE = new CountDownLatch(1);
  private static Statistics statistics;
  private static long lost;

  /** Counts; all else is as Flink sets it. */
  public static final class Counting implements RocksDBOptionsFactory {
    @Override
    public DBOptions createDBOptions(DBOptions options, Collection<AutoCloseable> handles) {
      statistics = new Statistics();
      return options.setStatistics(statistics);
    }

    @Override
    public ColumnFamilyOptions createColumnOptions(
        ColumnFamilyOptions options, Collection<AutoCloseable> handles) {
      return options;
    }
  }

  /** Elements 0 .. KEYS - 1 write a key, as many look it up, and as many look up absent ones. */
  public static final class State extends KeyedProcessFunction<Long, Long, Long> {
    private transient ValueState<Long> state;

    @Override
    public void open(OpenContext context) {
      state = getRuntimeContext().getState(new ValueStateDescriptor<>("state", Long.class));
    }

    @Override
    public void processElement(Long i, Context context, Collector<Long> out) throws Exception {
      if (i < KEYS) {
        state.update(i);
      } else if (i < 2 * KEYS) {
        if (state.value() == null) ++lost;
      } else if (i < 3 * KEYS) {
        if (state.value() != null) throw new AssertionError("found " + i);
      } else {
        DONE.countDown();
        Thread.sleep(10);
      }
    }
  }

  public static void main(String[] arguments) throws Exception {
    Path folder = Path.of(arguments[0]).toAbsolutePath();
    boolean fill = arguments[1].equals("fill");
    Configuration configuration = new Configuration();
    configuration.setString("state.backend.type", "rocksdb");
    configuration.setString("state.backend.rocksdb.use-bloom-filter", "true");
    configuration.setString("state.backend.rocksdb.writebuffer.size", "1mb");
    configuration.setString("state.backend.rocksdb.options-factory", "Flink$Counting");
    if (!fill) {
      configuration.setString("execution.state-recovery.path", folder.toUri() + "/savepoint");
    }
    StreamExecutionEnvironment job =
        StreamExecutionEnvironment.getExecutionEnvironment(configuration);
    job.setParallelism(1);
    job.fromSequence(fill ? 0 : KEYS, Long.MAX_VALUE)
        .uid(fill ? "source" : "source of another job")
        .keyBy(i -> i < 2 * KEYS ? i % KEYS * 2 : i % KEYS * 2 + 1)
        .process(new State())
        .uid("state")
        .sinkTo(new DiscardingSink<>());
    if (!fill) configuration.setString("execution.state-recovery.ignore-unclaimed-state", "true");
    job.configure(configuration);
    JobClient client = job.executeAsync();
    DONE.await();
    Answer.print(lost, statistics);
    if (fill) {
      String path =
          client.stopWithSavepoint(false, folder.toUri().toString(), SavepointFormatType.NATIVE).get();
      java.nio.file.Files.move(
          Path.of(java.net.URI.create(path)), folder.resolve("savepoint"));
    } else {
      client.cancel().get();
    }
  }
}
