// Checks and fills a filter of scheme guava-helper, from Java with Guava:
//
//   java -cp /usr/share/java/guava.jar GuavaClient.java HOST PORT NAME check|add KEY...
//
// Deltabloom made the filter: its numbers of bits and probes are in Redis.
// Prints "absent KEY" or "may match KEY", or how many keys were added.
import com.google.common.hash.Hashing;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

public class GuavaClient {
  // One connection; the Redis protocol, as far as it is needed.
  static class Redis implements AutoCloseable {
    private final Socket socket = new Socket();
    private final InputStream in;

    Redis(String host, int port) throws IOException {
      socket.connect(new InetSocketAddress(host, port), 1000);
      socket.setSoTimeout(1000);
      in = new BufferedInputStream(socket.getInputStream());
    }

    Object run(List<String> words) throws IOException {
      var bytes = new ByteArrayOutputStream();
      bytes.writeBytes(("*" + words.size() + "\r\n").getBytes());
      for (String word : words) {
        byte[] utf8 = word.getBytes(StandardCharsets.UTF_8);
        bytes.writeBytes(("$" + utf8.length + "\r\n").getBytes());
        bytes.writeBytes(utf8);
        bytes.writeBytes("\r\n".getBytes());
      }
      socket.getOutputStream().write(bytes.toByteArray());
      return read();
    }

    private Object read() throws IOException {
      var line = new ByteArrayOutputStream();
      for (int c; (c = in.read()) != '\n'; line.write(c)) {
        if (c < 0) {
          throw new IOException("Redis closed the connection");
        }
      }
      String text = line.toString(StandardCharsets.UTF_8).trim();
      String rest = text.substring(1);
      switch (text.charAt(0)) {
        case '-':
          throw new IOException(rest);
        case ':':
          return Long.parseLong(rest);
        case '$':
          int size = Integer.parseInt(rest);
          return size < 0
              ? null
              : new String(in.readNBytes(size + 2), 0, size, StandardCharsets.UTF_8);
        case '*':
          List<Object> list = new ArrayList<>();
          for (int i = Integer.parseInt(rest); i > 0; --i) {
            list.add(read());
          }
          return list;
        default:
          return rest;
      }
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }

  // Sets the bits in the bitmap and in that of a rebuild, if one runs: both or
  // neither. -1: the bits were lost.
  static final String ADD =
      """
      local function whole(key) return redis.call('GETBIT', key, ARGV[2]) == 1 end
      local function set(key) for i = 3, #ARGV do redis.call('SETBIT', key, ARGV[i], 1) end end
      if not whole(KEYS[1]) then return -1 end
      set(KEYS[1])
      if redis.call('HGET', KEYS[2], 'rebuild') and whole(ARGV[1]) then set(ARGV[1]) end
      return 0
      """;

  // Returns 0 if a bit is clear. Lost bits say nothing, and after a restart or a
  // failover Redis may lack keys: then it returns 1.
  static final String CHECK =
      """
      local known = redis.call('HMGET', KEYS[2], 'run_id', 'replid')
      local info = redis.call('INFO', 'server') .. redis.call('INFO', 'replication')
      if not string.find(info, 'run_id:' .. tostring(known[1]), 1, true)
        or not string.find(info, 'master_replid:' .. tostring(known[2]), 1, true)
        or redis.call('GETBIT', KEYS[1], ARGV[1]) == 0 then return 1 end
      for i = 2, #ARGV do
        if redis.call('GETBIT', KEYS[1], ARGV[i]) == 0 then return 0 end
      end
      return 1
      """;

  final Redis redis;
  final String name;
  final String companion;
  final int bits;
  final int probes;

  GuavaClient(Redis redis, String name) throws IOException {
    this.redis = redis;
    this.name = name;
    this.companion = name.contains("{") ? name : "{" + name + "}";
    var fields =
        (List<?>) redis.run(List.of(
            "HMGET", companion + ":deltabloom", "scheme", "bits", "probes", "doubled_string"));
    if (!"guava-helper".equals(fields.get(0)) || fields.get(3) != null) {
      throw new IOException(name + ": no filter that this program can read");
    }
    bits = Integer.parseInt((String) fields.get(1));
    probes = Integer.parseInt((String) fields.get(2));
  }

  private Object run(String key, String... words) throws IOException {
    List<String> command = new ArrayList<>(List.of(words));
    command.add("" + bits); // the marker: the bit after the last one
    long hash = Hashing.murmur3_128().hashString(key, StandardCharsets.UTF_8).asLong();
    for (int i = 1; i <= probes; ++i) {
      int combined = (int) hash + i * (int) (hash >>> 32);
      command.add("" + (combined < 0 ? ~combined : combined) % bits);
    }
    return redis.run(command);
  }

  // False only if the key was not added. One round trip.
  boolean mayMatch(String key) throws IOException {
    return !run(key, "EVAL", CHECK, "2", name, companion + ":deltabloom").equals(0L);
  }

  void add(String key) throws IOException {
    if (!run(key, "EVAL", ADD, "2", name, companion + ":deltabloom", companion + ":rebuild")
        .equals(0L)) {
      throw new IOException(name + ": the bits are lost; rebuild the filter");
    }
  }

  public static void main(String[] args) throws IOException {
    if (args.length < 4 || !(args[3].equals("check") || args[3].equals("add"))) {
      System.err.println("usage: GuavaClient HOST PORT NAME check|add KEY...");
      System.exit(2);
    }
    try (Redis redis = new Redis(args[0], Integer.parseInt(args[1]))) {
      GuavaClient filter = new GuavaClient(redis, args[2]);
      for (String key : Arrays.copyOfRange(args, 4, args.length)) {
        if (args[3].equals("add")) {
          filter.add(key);
        } else {
          System.out.println((filter.mayMatch(key) ? "may match " : "absent ") + key);
        }
      }
      if (args[3].equals("add")) {
        System.out.println("added " + (args.length - 4));
      }
    }
  }
}
