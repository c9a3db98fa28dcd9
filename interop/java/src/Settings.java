import java.time.Duration;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The variables of docs/worker-contract.md, checked. */
record Settings(
    String subscription, // full name
    String nextTopic, // full name; empty at the last hop
    Duration work,
    int streams,
    int maxOutstanding,
    boolean awaitPublish,
    String hop,
    String otlpProtocol) { // grpc or http/protobuf; empty: spans go nowhere

  // The limits of hopgap worker's flags of the same names.
  private static final int MAX_STREAMS = 100;
  private static final int MAX_OUTSTANDING = 1_000_000;

  private static final Pattern LENGTH = Pattern.compile("([0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)(ns|us|ms|s|m|h)");
  private static final Pattern DRAW = Pattern.compile("([0-9]{1,9})\\.(.*)", Pattern.DOTALL);

  /** IllegalArgumentException, naming the variable, its value and what is allowed. */
  static Settings read(UnaryOperator<String> environment) {
    UnaryOperator<String> text = name -> environment.apply(name) == null ? "" : environment.apply(name);
    String subscription = text.apply("HOPGAP_SUBSCRIPTION");
    String nextTopic = text.apply("HOPGAP_NEXT_TOPIC");
    checkName("HOPGAP_SUBSCRIPTION", subscription, "subscriptions");
    if (!nextTopic.isEmpty()) {
      checkName("HOPGAP_NEXT_TOPIC", nextTopic, "topics");
    }
    String publish = orElse(text.apply("HOPGAP_PUBLISH"), "await");
    if (!publish.equals("await") && !publish.equals("fire")) {
      throw new IllegalArgumentException("HOPGAP_PUBLISH: '" + publish + "' is neither await nor fire");
    }
    return new Settings(
        subscription,
        nextTopic,
        duration("HOPGAP_WORK", orElse(text.apply("HOPGAP_WORK"), "200ms")),
        count("HOPGAP_STREAMS", orElse(text.apply("HOPGAP_STREAMS"), "4"), MAX_STREAMS),
        count(
            "HOPGAP_MAX_OUTSTANDING_MESSAGES",
            orElse(text.apply("HOPGAP_MAX_OUTSTANDING_MESSAGES"), "1000"),
            MAX_OUTSTANDING),
        publish.equals("await"),
        text.apply("HOPGAP_HOP"),
        otlpProtocol(text));
  }

  /** How spans leave: the traces' own variables win over the general ones, as the exporter specification has it. */
  static String otlpProtocol(UnaryOperator<String> text) {
    if (text.apply("OTEL_EXPORTER_OTLP_ENDPOINT").isEmpty()
        && text.apply("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").isEmpty()) {
      return "";
    }
    String variable = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL";
    if (text.apply(variable).isEmpty()) {
      variable = "OTEL_EXPORTER_OTLP_PROTOCOL";
    }
    String protocol = orElse(text.apply(variable), "grpc");
    if (!protocol.equals("grpc") && !protocol.equals("http/protobuf")) {
      throw new IllegalArgumentException(variable + ": '" + protocol + "' is neither grpc nor http/protobuf");
    }
    return protocol;
  }

  /** Turns "H.S" into "(H+1).S"; anything else stays as it is. */
  static String nextDraw(String draw) {
    Matcher parts = DRAW.matcher(draw);
    return parts.matches() ? Integer.parseInt(parts.group(1)) + 1 + "." + parts.group(2) : draw;
  }

  private static void checkName(String variable, String name, String kind) {
    if (!name.matches("projects/[^/]+/" + kind + "/[^/]+")) {
      throw new IllegalArgumentException(variable + ": '" + name + "' is not projects/PROJECT/" + kind + "/ID");
    }
  }

  private static Duration duration(String variable, String text) {
    if (text.equals("0")) {
      return Duration.ZERO;
    }
    double nanos = 0;
    int end = 0;
    for (Matcher part = LENGTH.matcher(text); part.find() && part.start() == end; end = part.end()) {
      nanos += Double.parseDouble(part.group(1)) * nanosOf(part.group(2));
    }
    if (text.isEmpty() || end != text.length()) {
      throw new IllegalArgumentException(
          variable + ": '" + text + "' is not 0 or a number with ns, us, ms, s, m or h");
    }
    return Duration.ofNanos(Math.round(nanos));
  }

  private static double nanosOf(String unit) {
    return switch (unit) {
      case "ns" -> 1;
      case "us" -> 1e3;
      case "ms" -> 1e6;
      case "s" -> 1e9;
      case "m" -> 60e9;
      default -> 3600e9;
    };
  }

  private static int count(String variable, String text, int limit) {
    if (!text.matches("[0-9]{1,9}") || Integer.parseInt(text) < 1 || Integer.parseInt(text) > limit) {
      throw new IllegalArgumentException(variable + ": '" + text + "' is not a whole number in [1, " + limit + "]");
    }
    return Integer.parseInt(text);
  }

  private static String orElse(String text, String otherwise) {
    return text.isEmpty() ? otherwise : text;
  }
}
