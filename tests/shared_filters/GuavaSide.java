// The other side of the tests that hold our filters against Guava. In Guava's
// package, since the strategy of a filter is not to be chosen from outside. With
// a JDK and Debian's libguava-java, in an empty folder CLASSES:
//
//   javac -cp /usr/share/java/guava.jar -d CLASSES GuavaSide.java
//   java -cp /usr/share/java/guava.jar:CLASSES com.google.common.hash.GuavaSide
//
// It obeys the lines of standard input and answers each with one line:
//
//   murmur3                                   writes tests/data/murmur3.csv
//   sizes N RATE                              bits and k, or "refused"
//   encode UTF16HEX                           its bytes in UTF-8
//   decode HEX                                UTF-16 of these bytes
//   write FUNNEL STRATEGY N RATE KEYS FILE    a filter that holds KEYS
//   read FUNNEL FILE KEYS COPY                a filter from FILE, asked for KEYS
//                                             and written to COPY
//   merge FUNNEL FILE OTHER COPY              FILE and what OTHER holds
//   parse HEX                                 "filter" or "refused"
//
// KEYS are FROM-TO, numbers of generated keys, or the name of a file with a key
// in hexadecimal in each line.
package com.google.common.hash;

import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.Random;
import java.util.function.Consumer;

public class GuavaSide {
  static final HexFormat HEX = HexFormat.of();

  // What keys of each funnel are made of: the number of a generated key, or the
  // bytes of a line.
  enum Kind {
    BYTES(Funnels.byteArrayFunnel()) {
      Object generated(long i) {
        return ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(spread(i)).array();
      }

      Object given(byte[] bytes) {
        return bytes;
      }
    },
    STRING(Funnels.stringFunnel(StandardCharsets.UTF_8)) {
      Object generated(long i) {
        return "caf\u00e9:" + i;
      }

      Object given(byte[] bytes) {
        return utf16(bytes);
      }
    },
    CHARS(Funnels.unencodedCharsFunnel()) {
      Object generated(long i) {
        return "caf\u00e9:" + i;
      }

      Object given(byte[] bytes) {
        return utf16(bytes);
      }
    },
    INT(Funnels.integerFunnel()) {
      Object generated(long i) {
        return (int) spread(i);
      }

      Object given(byte[] bytes) {
        return ByteBuffer.wrap(bytes).getInt();
      }
    },
    LONG(Funnels.longFunnel()) {
      Object generated(long i) {
        return spread(i);
      }

      Object given(byte[] bytes) {
        return ByteBuffer.wrap(bytes).getLong();
      }
    };

    final Funnel<Object> funnel;

    @SuppressWarnings("unchecked")
    Kind(Funnel<?> funnel) {
      this.funnel = (Funnel<Object>) funnel;
    }

    abstract Object generated(long i);

    abstract Object given(byte[] bytes);
  }

  static long spread(long i) {
    return i * 0x9E3779B97F4A7C15L;
  }

  static String utf16(byte[] bytes) {
    char[] units = new char[bytes.length / 2];
    ByteBuffer.wrap(bytes).asCharBuffer().get(units);
    return new String(units);
  }

  static void forEach(Kind kind, String keys, Consumer<Object> use) throws IOException {
    if (keys.startsWith("/")) {
      for (String line : Files.readAllLines(Path.of(keys))) {
        use.accept(kind.given(HEX.parseHex(line)));
      }
      return;
    }
    String[] ends = keys.split("-");
    for (long i = Long.parseLong(ends[0]); i < Long.parseLong(ends[1]); ++i) {
      use.accept(kind.generated(i));
    }
  }

  static String describe(BloomFilter<Object> filter) {
    return filter.approximateElementCount() + " " + Double.toHexString(filter.expectedFpp());
  }

  static void store(BloomFilter<Object> filter, String file) throws IOException {
    try (var out = new BufferedOutputStream(new FileOutputStream(file))) {
      filter.writeTo(out);
    }
  }

  static BloomFilter<Object> load(Kind kind, String file) throws IOException {
    try (var in = new java.io.BufferedInputStream(new FileInputStream(file))) {
      return BloomFilter.readFrom(in, kind.funnel);
    }
  }

  static String write(String[] words) throws IOException {
    Kind kind = Kind.valueOf(words[1]);
    BloomFilter<Object> filter =
        BloomFilter.create(
            kind.funnel,
            Long.parseLong(words[3]),
            Double.parseDouble(words[4]),
            BloomFilterStrategies.values()[Integer.parseInt(words[2])]);
    long[] changed = {0};
    forEach(kind, words[5], key -> changed[0] += filter.put(key) ? 1 : 0);
    store(filter, words[6]);
    return changed[0] + " " + describe(filter);
  }

  static String read(String[] words) throws IOException {
    Kind kind = Kind.valueOf(words[1]);
    BloomFilter<Object> filter = load(kind, words[2]);
    StringBuilder answers = new StringBuilder();
    forEach(kind, words[3], key -> answers.append(filter.mightContain(key) ? '1' : '0'));
    store(filter, words[4]);
    return describe(filter) + " " + answers;
  }

  static String merge(String[] words) throws IOException {
    Kind kind = Kind.valueOf(words[1]);
    BloomFilter<Object> filter = load(kind, words[2]);
    filter.putAll(load(kind, words[3]));
    store(filter, words[4]);
    return describe(filter);
  }

  static String sizes(long n, double rate) {
    try {
      // A filter itself may take gigabytes.
      long bits = BloomFilter.optimalNumOfBits(Math.max(n, 1), rate);
      int k = BloomFilter.optimalNumOfHashFunctions(Math.max(n, 1), bits);
      return bits + " " + k;
    } catch (IllegalArgumentException e) {
      return "refused";
    }
  }

  static String parse(byte[] bytes) {
    try {
      BloomFilter.readFrom(new ByteArrayInputStream(bytes), Funnels.byteArrayFunnel());
      return "filter";
    } catch (IOException e) {
      return "refused";
    }
  }

  static String murmur3() {
    Random random = new Random(1);
    StringBuilder text = new StringBuilder("key_hex,low,high");
    for (int size = 0; size <= 70; ++size) {
      byte[] key = new byte[size];
      random.nextBytes(key);
      ByteBuffer hash =
          ByteBuffer.wrap(Hashing.murmur3_128().hashBytes(key).asBytes())
              .order(ByteOrder.LITTLE_ENDIAN);
      text.append(
          String.format("%n%s,%016x,%016x", HEX.formatHex(key), hash.getLong(0), hash.getLong(8)));
    }
    return text.toString();
  }

  static String obey(String[] words) throws IOException {
    byte[] bytes = words.length == 2 ? HEX.parseHex(words[1]) : new byte[0];
    return switch (words[0]) {
      case "murmur3" -> murmur3();
      case "sizes" -> sizes(Long.parseLong(words[1]), Double.parseDouble(words[2]));
      case "encode" -> "=" + HEX.formatHex(utf16(bytes).getBytes(StandardCharsets.UTF_8));
      case "decode" -> "="
          + HEX.formatHex(
              new String(bytes, StandardCharsets.UTF_8).getBytes(StandardCharsets.UTF_16BE));
      case "write" -> write(words);
      case "read" -> read(words);
      case "merge" -> merge(words);
      case "parse" -> parse(bytes);
      default -> throw new IllegalArgumentException(words[0]);
    };
  }

  public static void main(String[] args) throws IOException {
    var in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      System.out.println(obey(line.split(" ")));
    }
  }
}
