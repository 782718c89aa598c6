// The manual pages, made from the same tables as parsing and --help: packaging/man/hotcell.1 is `hotcell help --man`,
// packaging/man/hotcell-serve.1 is `hotcell help --man serve`.
#include "base/strings.h"
#include "cli/help.h"
#include "hotcell/layer.h"
#include "hotcell/launcher.h"
#include "server/config/fields.h"

namespace hotcell {

namespace {

// A hyphen in roff is a hyphen; what people copy must be a minus. A dot or quote at a line's start is a request.
std::string roff(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '-') out += "\\-";
    else if (c == '\\') out += "\\e";
    else out += c;
  }
  if (out.starts_with('.') || out.starts_with('\'')) out.insert(0, "\\&");
  return out;
}

constexpr std::string_view kDescription =
    ".SH DESCRIPTION\n"
    "hotcell runs a program with every wall the kernel offers: namespaces, a read\\-only root it cannot see past,\n"
    "Landlock, a seccomp allowlist, no capabilities, and a ceiling on every resource.\n"
    "Without any option the program sees /usr and a made /etc, read\\-only, and its own private /work (its current\n"
    "directory and HOME) and /tmp. It has no network but its own empty loopback, and inherits no environment.\n"
    ".PP\n"
    "A layer that cannot be enforced here is reported in the result, never dropped silently;\n"
    "with \\fB\\-\\-require\\fR its absence is an error before anything starts.\n";

constexpr std::string_view kExit =
    ".SH EXIT STATUS\n"
    ".TP\n.B 124\nThe wall\\-clock or CPU time limit was reached.\n"
    ".TP\n.B 125\nhotcell itself failed or refused: bad usage, a layer that cannot be enforced.\n"
    ".TP\n.B 126\nThe program is not executable.\n"
    ".TP\n.B 127\nThe program was not found, or the cell does not see it.\n"
    ".TP\n.B 137\nKilled for memory, output, disk or processes.\n"
    ".TP\n.B 141\nWhoever read the output went away.\n"
    ".TP\n.B 159\nKilled by policy.\n"
    ".TP\n.B 128+N\nThe program, or hotcell, was ended by signal N.\n"
    ".PP\nAnything else is the program's own. \\fBprofile check\\fR exits 1 when it has warnings.\n";

constexpr std::string_view kExamples =
    ".SH EXAMPLES\n.nf\n"
    "hotcell run hello.py\n"
    "hotcell run \\-\\-memory 64M \\-\\-timeout 2s \\-\\-json \\-\\- ./a.out\n"
    "hotcell run \\-\\-write . \\-\\-deny .env \\-\\-workdir . \\-\\- make test\n"
    "hotcell explain \\-\\-profile strict\n.fi\n";

constexpr std::string_view kServeText =
    "Runs until SIGTERM or SIGINT, then takes no more requests (503), lets the running ones end for as long as\n"
    "\\fBqueue.drain\\fR of the configuration says, and stops; the second signal stops it at once.\n"
    "Three processes: the supervisor, which holds the sockets; the launcher, which alone makes cells; and the front,\n"
    "which reads requests behind walls of its own and can neither read your files nor start a program.\n"
    ".PP\nWithout any option it listens on 127.0.0.1:7070: the dashboard at /, the HTTP interface below /api/v1,\n"
    "MCP at /mcp. On the loopback no key is needed unless \\fB\\-\\-require\\-key\\fR asks for one;\n"
    "elsewhere a key is always needed, and TLS.\n"
    ".SH SYSTEMD\n"
    "Listens on the sockets that LISTEN_FDS announces, instead of those of the configuration, when LISTEN_PID is its\n"
    "own. Tells NOTIFY_SOCKET when it is ready, when it stops, and, as often as\n"
    "WATCHDOG_USEC asks, that it lives: while the front and the launcher both answer.\n";
constexpr std::string_view kMcpText =
    "Reads requests from standard input and answers on standard output, for programs that start their servers\n"
    "themselves. The tools, the limits and the history are those of \\fBhotcell serve\\fR.\n";
constexpr std::string_view kConfigText =
    "\\fBshow\\fR prints what is in force, \\fBcheck\\fR reads a file and exits 125 when it is refused and 1 when\n"
    "something in it was changed, \\fBexample\\fR prints a file with every key and its default.\n"
    ".PP\nRead in this order, the later one wins: /etc/hotcell/config.yaml; $XDG_CONFIG_HOME/hotcell/config.yaml,\n"
    "else ~/.config/hotcell/config.yaml; variables; options. With \\fB\\-\\-config\\fR that file takes the place of both.\n"
    "An unknown key, a wrong type, a bad unit, a value out of range, and a file that others may write are errors.\n";

void append_options(std::string& out, std::span<const OptionSpec> rows, auto&& wanted) {
  std::string_view group;
  for (const auto& o : rows) {
    if (o.hidden || !wanted(o)) continue;
    if (o.group != group) out += cat(".SS ", o.group, "\n");
    group = o.group;
    out += ".TP\n";
    if (!o.short_name.empty()) out += cat("\\fB", roff(o.short_name), "\\fR, ");
    out += cat("\\fB", roff(o.name), "\\fR", o.value.empty() ? "" : " ");
    out += o.value.empty() ? "\n" : cat("\\fI", roff(o.value), "\\fR\n");
    out += roff(o.help);
    if (!o.choices.empty()) out += cat(" One of ", roff(o.choices), ".");
    if (o.repeatable) out += " May be repeated.";
    out += '\n';
  }
}

std::string keys_of_the_file() {
  std::string out = ".SH KEYS\nBeside each key its variable, where the entries of a list are separated by commas.\n";
  const server::Config defaults;
  for (const auto& field : server::fields()) {
    auto values = server::field_values(defaults, field);
    std::string value = values.empty() ? std::string() : join(values, ", ");
    out += cat(".TP\n\\fB", roff(field.key), "\\fR (", roff(server::variable_of(field)), ")\n", roff(field.help));
    if (!field.choices.empty()) out += cat(" One of ", roff(field.choices), ".");
    out += cat(" Default: ", value.empty() ? "none" : roff(value), ".\n");
  }
  return out;
}

}  // namespace

std::string manual_page(Command command) {
  const auto& spec = command_spec(command);
  std::string title;
  for (char c : spec.name) title += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  std::string out = cat(".TH HOTCELL\\-", title, " 1 \"\" \"hotcell ", version(), "\" \"User Commands\"\n",
                        ".SH NAME\nhotcell\\-", spec.name, " \\- ", roff(spec.summary), "\n.SH SYNOPSIS\n.nf\n");
  for (auto form : split(spec.synopsis, '\n')) out += cat("\\fBhotcell ", spec.name, "\\fR ", roff(form), "\n");
  out += ".fi\n";
  if (command == Command::kServe) out += cat(".SH DESCRIPTION\n", kServeText);
  if (command == Command::kMcp) out += cat(".SH DESCRIPTION\n", kMcpText);
  if (command == Command::kConfig) out += cat(".SH DESCRIPTION\n", kConfigText);
  out += ".SH OPTIONS\n";
  append_options(out, options(), [&](const OptionSpec& o) { return applies(o, command); });
  if (command == Command::kConfig) out += keys_of_the_file();
  return out + ".SH SEE ALSO\n\\fBhotcell\\fR(1)\n";
}

std::string manual_page() {
  std::string out = cat(".TH HOTCELL 1 \"\" \"hotcell ", version(), "\" \"User Commands\"\n",
                        ".SH NAME\nhotcell \\- run untrusted programs in a cell\n.SH SYNOPSIS\n.nf\n");
  for (const auto& c : commands()) {
    for (auto form : split(c.synopsis, '\n')) out += cat("\\fBhotcell ", c.name, "\\fR ", roff(form), "\n");
  }
  out += cat(".fi\n", kDescription, ".SH COMMANDS\n");
  for (const auto& c : commands()) out += cat(".TP\n.B ", c.name, "\n", roff(c.summary), ".\n");
  out += ".SH OPTIONS\n";
  append_options(out, options(), [](const OptionSpec&) { return true; });
  out += ".SH LAYERS\nThe names that \\fB\\-\\-require\\fR takes:\n";
  for (auto name : kLayerNames) out += cat(name, name == kLayerNames.back() ? ".\n" : ",\n");
  out += cat(kExit, kExamples,
             ".SH SEE ALSO\n\\fBhotcell\\-serve\\fR(1), \\fBhotcell\\-mcp\\fR(1), \\fBhotcell\\-config\\fR(1)\n");
  return out;
}

}  // namespace hotcell
