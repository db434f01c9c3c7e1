// Asks and fills a filter of scheme guava-helper, from Java with Guava:
//
//   java -cp /usr/share/java/guava.jar GuavaClient.java HOST PORT NAME check|add KEY...
//   java -cp ... GuavaClient.java --bits M --probes K HOST PORT NAME check|add KEY...
//
// The first form is for filters that Deltabloom made: it reads bits and probes
// from Redis. The second is for bitmaps that only programs like this one fill.
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

    // Many commands in one round trip.
    List<Object> run(List<List<String>> commands) throws IOException {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      for (List<String> words : commands) {
        bytes.write(("*" + words.size() + "\r\n").getBytes(StandardCharsets.US_ASCII));
        for (String word : words) {
          byte[] utf8 = word.getBytes(StandardCharsets.UTF_8);
          bytes.write(("$" + utf8.length + "\r\n").getBytes(StandardCharsets.US_ASCII));
          bytes.write(utf8);
          bytes.write('\r');
          bytes.write('\n');
        }
      }
      socket.getOutputStream().write(bytes.toByteArray());
      List<Object> replies = new ArrayList<>();
      for (int i = 0; i < commands.size(); ++i) {
        replies.add(read());
      }
      for (Object reply : replies) {
        if (reply instanceof IOException) {
          throw (IOException) reply;
        }
      }
      return replies;
    }

    private String line() throws IOException {
      ByteArrayOutputStream line = new ByteArrayOutputStream();
      for (int c; (c = in.read()) != '\r'; ) {
        if (c < 0) {
          throw new IOException("Redis closed the connection");
        }
        line.write(c);
      }
      in.read();  // \n
      return line.toString(StandardCharsets.UTF_8);
    }

    private Object read() throws IOException {
      String line = line();
      String rest = line.substring(1);
      switch (line.charAt(0)) {
        case '-':
          return new IOException(rest);
        case ':':
          return Long.parseLong(rest);
        case '$':
          int size = Integer.parseInt(rest);
          if (size < 0) {
            return null;
          }
          byte[] bytes = in.readNBytes(size);
          in.readNBytes(2);
          return new String(bytes, StandardCharsets.UTF_8);
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
      "local function whole(key) return ARGV[2] == '-1' or"
          + " redis.call('GETBIT', key, ARGV[2]) == 1 end\n"
          + "local function set(key)"
          + " for i = 3, #ARGV do redis.call('SETBIT', key, ARGV[i], 1) end end\n"
          + "if not whole(KEYS[1]) then return -1 end\n"
          + "set(KEYS[1])\n"
          + "if redis.call('HGET', KEYS[2], 'rebuild') and whole(ARGV[1]) then set(ARGV[1]) end\n"
          + "return 0";

  // Returns 0 if a bit is clear. Lost bits say nothing, and after a restart or a
  // failover Redis may lack keys: then it returns 1.
  static final String CHECK =
      "local function check()\n"
          + "  if ARGV[1] == '-1' then\n"
          + "    if redis.call('EXISTS', KEYS[1]) == 0 then return 1 end\n"
          + "  else\n"
          + "    local known = redis.call('HMGET', KEYS[2], 'run_id', 'replid')\n"
          + "    if not string.find(redis.call('INFO', 'server'), 'run_id:' .. tostring(known[1]), 1, true)\n"
          + "      or not string.find(redis.call('INFO', 'replication'),\n"
          + "                         'master_replid:' .. tostring(known[2]), 1, true)\n"
          + "      or redis.call('GETBIT', KEYS[1], ARGV[1]) == 0 then return 1 end\n"
          + "  end\n"
          + "  for i = 2, #ARGV do\n"
          + "    if redis.call('GETBIT', KEYS[1], ARGV[i]) == 0 then return 0 end\n"
          + "  end\n"
          + "  return 1\n"
          + "end\n"
          + "return check()\n";

  final Redis redis;
  final String name;
  final String companion;
  final int bits;
  final int probes;
  final boolean hasMarker;  // the bit behind the last one, in filters of Deltabloom's

  GuavaClient(Redis redis, String name, int bits, int probes) throws IOException {
    this.redis = redis;
    this.name = name;
    this.companion = name.contains("{") ? name : "{" + name + "}";
    hasMarker = bits == 0;
    if (hasMarker) {
      List<?> fields =
          (List<?>)
              redis
                  .run(List.of(List.of("HMGET", companion + ":deltabloom",
                      "scheme", "bits", "probes", "doubled_string")))
                  .get(0);
      if (!"guava-helper".equals(fields.get(0)) || fields.get(3) != null) {
        throw new IOException(name + ": no filter that this program can read");
      }
      bits = Integer.parseInt((String) fields.get(1));
      probes = Integer.parseInt((String) fields.get(2));
    }
    this.bits = bits;
    this.probes = probes;
  }

  List<Integer> offsets(String key) {
    long hash = Hashing.murmur3_128().hashString(key, StandardCharsets.UTF_8).asLong();
    int first = (int) hash;
    int second = (int) (hash >>> 32);
    List<Integer> offsets = new ArrayList<>();
    for (int i = 1; i <= probes; ++i) {
      int combined = first + i * second;
      offsets.add((combined < 0 ? ~combined : combined) % bits);
    }
    return offsets;
  }

  // False only if the key was not added. One round trip.
  boolean mayMatch(String key) throws IOException {
    return !run(CHECK, List.of(name, companion + ":deltabloom"), List.of(), key).equals(0L);
  }

  // Calls a script: its keys, some words, the marker, and the offsets of a key.
  private Object run(String script, List<String> keys, List<String> more, String key)
      throws IOException {
    List<String> words = new ArrayList<>(List.of("EVAL", script, "" + keys.size()));
    words.addAll(keys);
    words.addAll(more);
    words.add(hasMarker ? "" + bits : "-1");
    for (int offset : offsets(key)) {
      words.add("" + offset);
    }
    return redis.run(List.of(words)).get(0);
  }

  void add(String key) throws IOException {
    if (!run(ADD, List.of(name, companion + ":deltabloom"), List.of(companion + ":rebuild"), key)
        .equals(0L)) {
      throw new IOException(name + ": the bits are lost; rebuild the filter");
    }
  }

  public static void main(String[] args) throws IOException {
    int bits = 0;
    int probes = 0;
    if (args.length > 4 && args[0].equals("--bits") && args[2].equals("--probes")) {
      bits = Integer.parseInt(args[1]);
      probes = Integer.parseInt(args[3]);
      args = Arrays.copyOfRange(args, 4, args.length);
    }
    if (args.length < 4 || !(args[3].equals("check") || args[3].equals("add"))) {
      System.err.println("usage: GuavaClient [--bits M --probes K] HOST PORT NAME check|add KEY...");
      System.exit(2);
    }
    try (Redis redis = new Redis(args[0], Integer.parseInt(args[1]))) {
      GuavaClient filter = new GuavaClient(redis, args[2], bits, probes);
      for (int i = 4; i < args.length; ++i) {
        if (args[3].equals("add")) {
          filter.add(args[i]);
        } else {
          System.out.println((filter.mayMatch(args[i]) ? "may match " : "absent ") + args[i]);
        }
      }
      if (args[3].equals("add")) {
        System.out.println("added " + (args.length - 4));
      }
    }
  }
}
