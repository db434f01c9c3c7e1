// Guava's own answers for scheme guava-helper. With a JDK and Debian's
// libguava-java:
//
//   java -cp /usr/share/java/guava.jar tests/redis/GuavaHelper.java > tests/data/guava_helper.csv
//
// A line per size: "size", insertions, rate, bits, probes. A line per key:
// "once" or "twice" (how often the funnel puts it), key in UTF-8 and
// hexadecimal, bits, probes, offsets with blanks between.
import com.google.common.hash.Funnel;
import com.google.common.hash.Hashing;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

public class GuavaHelper {
  static int bits(long insertions, double rate) {
    return (int) (-insertions * Math.log(rate) / (Math.log(2) * Math.log(2)));
  }

  static int probes(long insertions, long bits) {
    return Math.max(1, (int) Math.round((double) bits / insertions * Math.log(2)));
  }

  static String offsets(String key, Funnel<String> funnel, int bits, int probes) {
    long hash = Hashing.murmur3_128().hashObject(key, funnel).asLong();
    int first = (int) hash;
    int second = (int) (hash >>> 32);
    List<String> offsets = new ArrayList<>();
    for (int i = 1; i <= probes; ++i) {
      int combined = first + i * second;
      offsets.add(Integer.toString((combined < 0 ? ~combined : combined) % bits));
    }
    return String.join(" ", offsets);
  }

  public static void main(String[] args) {
    System.out.println("kind,a,b,bits,probes,offsets");
    long[] counts = {1, 3, 10, 999, 1000, 123456, 1000000, 100000000, 1000000000};
    double[] rates = {0.5, 0.03, 0.01, 0.001, 1e-9};
    for (long count : counts) {
      for (double rate : rates) {
        int bits = bits(count, rate);
        System.out.printf("size,%d,%s,%d,%d,%n", count, rate, bits, probes(count, bits));
      }
    }
    Funnel<String> once = (key, sink) -> sink.putString(key, StandardCharsets.UTF_8);
    Funnel<String> twice =
        (key, sink) ->
            sink.putString(key, StandardCharsets.UTF_8).putString(key, StandardCharsets.UTF_8);
    List<String> keys = new ArrayList<>(List.of("", "a", "user:1000", "gr\u00fc\u00dfe", "\u9580", "\ud83d\ude00"));
    for (int i = 1; i <= 40; i += 3) {
      keys.add("k".repeat(i) + i);
    }
    int[][] sizes = {{9585, 7}, {62, 1}, {Integer.MAX_VALUE, 30}};
    for (String key : keys) {
      String hex = HexFormat.of().formatHex(key.getBytes(StandardCharsets.UTF_8));
      for (int[] size : sizes) {
        System.out.printf(
            "once,%s,,%d,%d,%s%n", hex, size[0], size[1], offsets(key, once, size[0], size[1]));
        System.out.printf(
            "twice,%s,,%d,%d,%s%n", hex, size[0], size[1], offsets(key, twice, size[0], size[1]));
      }
    }
  }
}
