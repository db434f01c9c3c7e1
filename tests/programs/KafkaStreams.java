import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.RocksDBConfigSetter;
import org.apache.kafka.streams.state.Stores;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.Statistics;

/**
 * Usage: java KafkaStreams PATH (fill|read): Kafka Streams with a persistent store. Its driver
 * flushes at each record, so there are few.
 */
public final class KafkaStreams {
  private static final int KEYS = 400;
  private static final int ABSENT = 200_000;
  private static Statistics statistics;

  /** Counts; all else is as Kafka sets it. */
  public static final class Counting implements RocksDBConfigSetter {
    @Override
    public void setConfig(String store, Options options, Map<String, Object> configs) {
      options.setStatistics(statistics);
    }

    @Override
    public void close(String store, Options options) {}
  }

  private static String key(int i) {
    return String.format("user%09d", i);
  }

  public static void main(String[] arguments) {
    RocksDB.loadLibrary();
    statistics = new Statistics();
    Properties properties = new Properties();
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, "programs");
    properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "none:1234");
    properties.put(StreamsConfig.STATE_DIR_CONFIG, arguments[0]);
    properties.put(StreamsConfig.ROCKSDB_CONFIG_SETTER_CLASS_CONFIG, Counting.class);
    StreamsBuilder builder = new StreamsBuilder();
    builder.table(
        "input",
        Consumed.with(Serdes.String(), Serdes.String()),
        Materialized.<String, String>as(Stores.persistentKeyValueStore("store"))
            .withKeySerde(Serdes.String())
            .withValueSerde(Serdes.String())
            .withCachingDisabled());
    try (TopologyTestDriver driver = new TopologyTestDriver(builder.build(), properties)) {
      TestInputTopic<String, String> input =
          driver.createInputTopic("input", new StringSerializer(), new StringSerializer());
      if (arguments[1].equals("fill")) {
        for (int i = 0; i < KEYS; ++i) input.pipeInput(key(2 * i), "value" + i);
      }
      KeyValueStore<String, String> store = driver.getKeyValueStore("store");
      int lost = 0;
      for (int i = 0; i < KEYS; ++i) if (!("value" + i).equals(store.get(key(2 * i)))) ++lost;
      for (int i = 0; i < ABSENT; ++i) {
        if (store.get(key(2 * (i % (KEYS - 1)) + 1) + "-" + i) != null) {
          throw new AssertionError("found " + i);
        }
      }
      Answer.print(lost, statistics);
      // TopologyTestDriver.close() removes the state.
      Runtime.getRuntime().halt(0);
    }
  }
}
