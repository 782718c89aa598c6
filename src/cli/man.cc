// The manual page, made from the same tables as parsing and --help: packaging/man/hotcell.1 is `hotcell help --man`.
#include "base/strings.h"
#include "cli/help.h"
#include "hotcell/layer.h"
#include "hotcell/launcher.h"

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

}  // namespace

std::string manual_page() {
  std::string out = cat(".TH HOTCELL 1 \"\" \"hotcell ", version(), "\" \"User Commands\"\n",
                        ".SH NAME\nhotcell \\- run untrusted programs in a cell\n.SH SYNOPSIS\n.nf\n");
  for (const auto& c : commands()) {
    for (auto form : split(c.synopsis, '\n')) out += cat("\\fBhotcell ", c.name, "\\fR ", roff(form), "\n");
  }
  out += cat(".fi\n", kDescription, ".SH COMMANDS\n");
  for (const auto& c : commands()) out += cat(".TP\n.B ", c.name, "\n", roff(c.summary), ".\n");
  out += ".SH OPTIONS\n";
  std::string_view group;
  for (const auto& o : options()) {
    if (o.hidden) continue;
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
  out += ".SH LAYERS\nThe names that \\fB\\-\\-require\\fR takes:\n";
  for (auto name : kLayerNames) out += cat(name, name == kLayerNames.back() ? ".\n" : ",\n");
  out += cat(kExit, kExamples);
  return out;
}

}  // namespace hotcell
