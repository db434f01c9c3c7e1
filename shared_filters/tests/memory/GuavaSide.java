// Guava's own answers. With a JDK and Debian's libguava-java:
//
//   java -cp /usr/share/java/guava.jar GuavaSide.java ../data
//
// writes murmur3.csv, guava_helper.csv (scheme guava-helper) and guava.csv into
// that folder. In guava.csv the first column says what the others are:
//
//   sizes    N, RATE, bits, hash functions
//   filter   FUNNEL, STRATEGY, N, RATE, how many of the keys 0 .. N - 1 changed it,
//            approximateElementCount, expectedFpp, hash of its bytes, hash of the
//            answers, '0' or '1', for the last keys and as many absent ones
//   merge    STRATEGY; of two INT filters that putAll joined the same
//   encode   a number of units, hash of all such texts in UTF-8
//   decode   a number of bytes, hash of all such strings in UTF-16
//   parse    bytes in hexadecimal, "filter" or "rejected"
//
// A hash is the low half of murmur3_128.
import com.google.common.hash.*;
import java.io.*;
import java.nio.*;
import java.nio.charset.*;
import java.util.*;
import java.util.function.*;

public class GuavaSide {
  static final Charset LATIN = StandardCharsets.ISO_8859_1, UTF_8 = StandardCharsets.UTF_8;
  static final HexFormat HEX = HexFormat.of();
  static Random random;
  static PrintStream out; // the file

  static long spread(long i) {
    return i * 0x9E3779B97F4A7C15L;
  }

  static String hash(byte[] bytes) {
    return String.format("%016x", Hashing.murmur3_128().hashBytes(bytes).asLong());
  }

  static byte[] bytesOf(BloomFilter<?> filter) throws IOException {
    var out = new ByteArrayOutputStream();
    filter.writeTo(out);
    return out.toByteArray();
  }

  // Guava lets nobody choose the strategy: it is the first byte.
  static <T> BloomFilter<T> create(Funnel<? super T> funnel, long n, double rate, int strategy)
      throws IOException {
    byte[] bytes = bytesOf(BloomFilter.create(funnel, n, rate));
    bytes[0] = (byte) strategy;
    return (BloomFilter<T>) BloomFilter.readFrom(new ByteArrayInputStream(bytes), funnel);
  }

  static String describe(BloomFilter<?> filter) throws IOException {
    return filter.approximateElementCount() + "," + filter.expectedFpp() + ","
        + hash(bytesOf(filter));
  }

  @SuppressWarnings("unchecked")
  record Kind(String name, Funnel<?> funnel, LongFunction<Object> key) {
    void write(int strategy, long n, double rate) throws IOException {
      var filter = create((Funnel<Object>) funnel, n, rate, strategy);
      long changed = 0;
      for (long i = 0; i < n; ++i) {
        changed += filter.put(key.apply(i)) ? 1 : 0;
      }
      StringBuilder answers = new StringBuilder();
      for (long i = n - Math.min(n, 5000); i < n + Math.min(n, 5000); ++i) {
        answers.append(filter.mightContain(key.apply(i)) ? '1' : '0');
      }
      out.println("filter," + name + "," + strategy + "," + n + "," + rate + "," + changed + ","
          + describe(filter) + "," + hash(answers.toString().getBytes()));
    }
  }

  static final Kind[] KINDS = {
    new Kind("STRING", Funnels.stringFunnel(UTF_8), i -> "caf\u00e9:" + i),
    new Kind("CHARS", Funnels.unencodedCharsFunnel(), i -> "caf\u00e9:" + i),
    new Kind("INT", Funnels.integerFunnel(), i -> (int) spread(i)),
    new Kind("LONG", Funnels.longFunnel(), i -> spread(i)),
  };

  static void merge(int strategy) throws IOException {
    var first = create(Funnels.integerFunnel(), 5000, 0.01, strategy);
    var second = create(Funnels.integerFunnel(), 5000, 0.01, strategy);
    for (long i = 0; i < 2000; ++i) {
      first.put((int) spread(i));
      second.put((int) spread(1500 + i));
    }
    first.putAll(second);
    out.println("merge," + strategy + "," + describe(first));
  }

  // Only where the last digit of a logarithm does not matter.
  static void sizes(long n, double rate) throws ReflectiveOperationException {
    double exact = -Math.max(n, 1) * Math.log(rate) / (Math.log(2) * Math.log(2));
    if ((long) (exact * (1 - 1e-14)) != (long) (exact * (1 + 1e-14))) {
      return;
    }
    Class<?> type = BloomFilter.class;
    var bits = type.getDeclaredMethod("optimalNumOfBits", long.class, double.class);
    var probes = type.getDeclaredMethod("optimalNumOfHashFunctions", long.class, long.class);
    bits.setAccessible(true);
    probes.setAccessible(true);
    Object m = bits.invoke(null, Math.max(n, 1), rate);
    out.println(
        "sizes," + n + "," + rate + "," + m + "," + probes.invoke(null, Math.max(n, 1), m));
  }

  // Every text of up to four of these units and bytes, a line each.
  static void texts() {
    String units = "\0a\u007f\u0080\u07ff\u0800\ud7ff\ud800\udbff\udc00\udfff\ue000\ufffd\uffff";
    byte[] hex = HEX.parseHex("007f808f909fa0bfc0c1c2dfe0e1edeff0f1f4f5f7f8ff");
    String bytes = new String(hex, LATIN);
    for (int size = 1; size <= 4; ++size) {
      String utf8 = all(units, size, text -> text);
      out.println("encode," + size + "," + hash(utf8.getBytes(UTF_8)));
      String utf16 = all(bytes, size, text -> new String(text.getBytes(LATIN), UTF_8));
      out.println("decode," + size + "," + hash(utf16.getBytes(StandardCharsets.UTF_16LE)));
    }
  }

  static String all(String units, int size, UnaryOperator<String> change) {
    var lines = new StringBuilder();
    char[] text = new char[size];
    for (int number = 0; number < Math.pow(units.length(), size); ++number) {
      for (int i = size, rest = number; i-- > 0; rest /= units.length()) {
        text[i] = units.charAt(rest % units.length());
      }
      lines.append(change.apply(new String(text))).append('\n');
    }
    return lines.toString();
  }

  // Small counts: Java allocates before it reads.
  static void parse() {
    for (int i = 0; i < 500; ++i) {
      int words = random.nextInt(3);
      byte[] bytes = new byte[6 + 8 * (words + random.nextInt(2))];
      random.nextBytes(bytes);
      byte[] header = {
        (byte) (random.nextInt(3) - (i % 7 == 0 ? 1 : 0)), (byte) random.nextInt(3),
        (byte) (i % 11 == 0 ? -1 : 0), 0, 0, (byte) words
      };
      System.arraycopy(header, 0, bytes, 0, 6);
      if (i % 4 == 0) {
        bytes = Arrays.copyOf(bytes, random.nextInt(bytes.length));
      }
      String answer = "filter";
      try {
        BloomFilter.readFrom(new ByteArrayInputStream(bytes), Funnels.byteArrayFunnel());
      } catch (IOException e) {
        answer = "rejected";
      }
      out.println("parse," + HEX.formatHex(bytes) + "," + answer);
    }
  }

  static void guava() throws Exception {
    out.println("kind");
    for (int i = 0; i < 1000; ++i) {
      double rate = Math.pow(10, -random.nextDouble() * (i % 5 == 0 ? 300 : 8));
      sizes(random.nextLong() >>> 1 + random.nextInt(63), rate);
    }
    double[] rates = {0.03, 0.01, 1e-6, 0.3, 0.001};
    for (int strategy : new int[] {0, 1}) {
      int number = 0;
      for (long n : new long[] {1, 2, 7, 63, 1000, 30000}) {
        for (Kind kind : KINDS) {
          kind.write(strategy, n, rates[number++ % 5]);
        }
      }
      KINDS[3].write(strategy, 1000000, 0.01);
      merge(strategy);
    }
    texts();
    parse();
  }

  static String offsets(String key, Funnel<String> funnel, int bits, int probes) {
    long hash = Hashing.murmur3_128().hashObject(key, funnel).asLong();
    StringJoiner offsets = new StringJoiner(" ");
    for (int i = 1; i <= probes; ++i) {
      int combined = (int) hash + i * (int) (hash >>> 32);
      offsets.add("" + (combined < 0 ? ~combined : combined) % bits);
    }
    return offsets.toString();
  }

  static void guavaHelper() {
    out.println("kind,a,b,bits,probes,offsets");
    for (long n : new long[] {1, 3, 10, 999, 1000, 123456, 1000000, 100000000, 1000000000}) {
      for (double rate : new double[] {0.5, 0.03, 0.01, 0.001, 1e-9}) {
        int bits = (int) (-n * Math.log(rate) / (Math.log(2) * Math.log(2)));
        long probes = Math.max(1, Math.round((double) bits / n * Math.log(2)));
        out.printf("size,%d,%s,%d,%d,%n", n, rate, bits, probes);
      }
    }
    Funnel<String> once = (key, sink) -> sink.putString(key, UTF_8);
    Funnel<String> twice = (key, sink) -> sink.putString(key + key, UTF_8);
    var keys = new ArrayList<>(
        List.of("", "a", "user:1000", "gr\u00fc\u00dfe", "\u9580", "\ud83d\ude00"));
    for (int i = 1; i <= 40; i += 3) {
      keys.add("k".repeat(i) + i);
    }
    for (String key : keys) {
      String hex = HEX.formatHex(key.getBytes(UTF_8));
      for (int[] size : new int[][] {{9585, 7}, {62, 1}, {Integer.MAX_VALUE, 30}}) {
        String end = hex + ",," + size[0] + "," + size[1] + ",";
        out.println("once," + end + offsets(key, once, size[0], size[1]));
        out.println("twice," + end + offsets(key, twice, size[0], size[1]));
      }
    }
  }

  static void murmur3() {
    out.println("key_hex,low,high");
    for (int size = 0; size <= 70; ++size) {
      byte[] key = new byte[size];
      random.nextBytes(key);
      var hash = ByteBuffer.wrap(Hashing.murmur3_128().hashBytes(key).asBytes())
          .order(ByteOrder.LITTLE_ENDIAN);
      out.printf("%s,%016x,%016x%n", HEX.formatHex(key), hash.getLong(), hash.getLong());
    }
  }

  static void open(String file) throws IOException {
    random = new Random(1);
    out = new PrintStream(new FileOutputStream(file), true);
  }

  public static void main(String[] args) throws Exception {
    open(args[0] + "/murmur3.csv");
    murmur3();
    open(args[0] + "/guava_helper.csv");
    guavaHelper();
    open(args[0] + "/guava.csv");
    guava();
  }
}
