// The other side of the tests that hold our filters against Guava. With a JDK
// and Debian's libguava-java:
//
//   java -cp /usr/share/java/guava.jar GuavaSide.java COMMAND
//
// murmur3    writes tests/data/murmur3.csv
import com.google.common.hash.Hashing;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HexFormat;
import java.util.Random;

public class GuavaSide {
  static void murmur3() {
    Random random = new Random(1);
    System.out.println("key_hex,low,high");
    for (int size = 0; size <= 70; ++size) {
      byte[] key = new byte[size];
      random.nextBytes(key);
      ByteBuffer hash =
          ByteBuffer.wrap(Hashing.murmur3_128().hashBytes(key).asBytes())
              .order(ByteOrder.LITTLE_ENDIAN);
      System.out.printf(
          "%s,%016x,%016x%n", HexFormat.of().formatHex(key), hash.getLong(0), hash.getLong(8));
    }
  }

  public static void main(String[] args) {
    if (args.length == 1 && args[0].equals("murmur3")) {
      murmur3();
    } else {
      System.err.println("GuavaSide: give a command: murmur3");
      System.exit(2);
    }
  }
}
