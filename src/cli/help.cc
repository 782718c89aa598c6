#include "cli/help.h"

#include <algorithm>

#include "base/json_write.h"
#include "base/strings.h"
#include "cli/commands.h"
#include "cli/say.h"
#include "core/policy/suggest.h"
#include "hotcell/launcher.h"

namespace hotcell {

namespace {

constexpr std::size_t kColumn = 26, kWidth = 100;

// Text broken at spaces into lines that start at `column`; the first is already there.
void append_wrapped(std::string& out, std::string_view text, std::size_t column) {
  std::size_t at = column;
  for (auto word : split(text, ' ')) {
    if (at + word.size() + 1 > kWidth) {
      out += cat("\n", std::string(column, ' '));
      at = column;
    } else if (at != column) {
      out += ' ';
      ++at;
    }
    out += word;
    at += word.size();
  }
  out += '\n';
}

void append_row(std::string& out, std::string left, std::string_view text) {
  left = cat("  ", left);
  if (left.size() + 2 > kColumn) {
    out += cat(left, "\n", std::string(kColumn, ' '));
  } else {
    out += cat(left, std::string(kColumn - left.size(), ' '));
  }
  append_wrapped(out, text, kColumn);
}

// One word where it fits into a line; otherwise words that can be broken.
std::string listed(std::string_view choices) {
  if (choices.size() + 2 + kColumn <= kWidth) return std::string(choices);
  std::string out;
  for (auto word : split(choices, '|')) out += cat(out.empty() ? "" : ", ", word);
  return out;
}

// Between bars and commas of a form stand several verbs: "pause | resume NAME...".
bool starts_with_verb(std::string_view form, std::string_view verb) {
  bool start = true;
  for (auto word : split(form, ' ')) {
    for (auto one : split(word, '|'))
      if (start && one == verb) return true;
    start = word == "|" || word.ends_with(',');
  }
  return false;
}

// "context run": of the forms that begin with the first word, those that have the second.
bool is_form_of(std::string_view form, std::string_view verb) {
  auto space = verb.find(' ');
  if (!starts_with_verb(form, verb.substr(0, space))) return false;
  if (space != verb.npos) return form.find(verb.substr(space + 1)) != form.npos;
  return !form.starts_with("context ");  // whose verbs are its own
}

std::string usage(const CommandSpec& command, const VerbSpec* verb) {
  std::string out;
  for (auto form : split(command.synopsis, '\n')) {
    if (verb != nullptr && !is_form_of(form, verb->name)) continue;
    out += cat(out.empty() ? "Usage: " : "       ", "hotcell ", command.name, form.empty() ? "" : " ", form, "\n");
  }
  return out;
}

std::string option_rows(auto&& wanted) {
  std::string out;
  std::string_view group;
  for (const auto& o : options()) {
    if (o.hidden || !wanted(o)) continue;
    if (o.group != group) out += cat("\n", o.group, ":\n");
    group = o.group;
    std::string left = cat(o.short_name, o.short_name.empty() ? "" : ", ", o.name, o.value.empty() ? "" : " ", o.value);
    std::string help(o.help);
    if (!o.choices.empty()) help += cat(" (", listed(o.choices), ")");
    if (o.repeatable) help += " May be repeated.";
    append_row(out, std::move(left), help);
  }
  return out;
}

}  // namespace

std::string short_help() {
  std::string out =
      "hotcell runs code nobody has read yet in a cell of its own.\n\nUsage: hotcell COMMAND [options]\n\n";
  for (const auto& c : commands()) append_row(out, std::string(c.name), c.summary);
  out += "\nTry: hotcell run -- ls -la /\nMore: hotcell help COMMAND, man hotcell\n";
  return out;
}

std::string help_text(Command command) {
  const auto& spec = command_spec(command);
  auto rows = option_rows([&](const OptionSpec& o) { return applies(o, command); });
  std::string out = cat(usage(spec, nullptr), "\n", spec.summary, "\n", rows);
  auto of_it = [&](const VerbSpec& v) { return v.command == command; };
  if (std::count_if(verbs().begin(), verbs().end(), of_it) < 2) return out;
  auto first = std::find_if(verbs().begin(), verbs().end(), of_it);
  return out + cat("\nWhich of them a verb takes: hotcell help ", spec.name, " ", first->name, "\n");
}

std::string help_text(const VerbSpec& verb) {
  auto rows = option_rows([&](const OptionSpec& o) { return applies(o, verb); });
  return cat(usage(command_spec(verb.command), &verb), rows);
}

std::string help_text(Command command, std::span<const std::string_view> words) {
  const VerbSpec* verb = find_verb(command, words);
  return verb == nullptr ? help_text(command) : help_text(*verb);
}

int cmd_help(Args args) {
  auto parsed = parse(Command::kHelp, args);
  if (!parsed.ok()) return refuse(parsed.error());
  const auto& words = parsed.value().words;
  const bool man = parsed.value().has(Opt::kMan);
  if (words.empty()) return print(man ? manual_page() : short_help());
  if (const auto* command = find_command(words[0])) {
    if (man) return print(manual_page(command->id));
    const std::string verb = join(std::vector<std::string>(words.begin() + 1, words.end()), " ");
    for (const auto& v : verbs()) {
      if (v.command == command->id && v.name == verb) return print(help_text(v));
    }
    return print(help_text(command->id));
  }
  std::vector<std::string_view> names;
  for (const auto& c : commands()) names.push_back(c.name);
  return refuse(make_error(ErrorCode::kInvalid,
                           cat("help: unknown command ", printable(words[0]), did_you_mean(words[0], names))));
}

int cmd_version(Args args) {
  auto parsed = parse(Command::kVersion, args);
  if (!parsed.ok()) return refuse(parsed.error());
  if (parsed.value().has(Opt::kHelp)) return print(help_text(Command::kVersion));
  if (!parsed.value().has(Opt::kJson)) return print(cat("hotcell ", version(), "\n"));
  JsonWriter w;
  w.begin_object();
  w.field("version", version());
  w.end_object();
  return print(w.take() + "\n");
}

}  // namespace hotcell
