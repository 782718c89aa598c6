#include "cli/options.h"

#include <algorithm>

#include "base/strings.h"
#include "core/policy/suggest.h"

namespace hotcell {

const CommandSpec* find_command(std::string_view name) {
  for (const auto& c : commands()) {
    if (c.name == name) return &c;
  }
  return nullptr;
}

const CommandSpec& command_spec(Command command) { return commands()[static_cast<std::size_t>(command)]; }

std::optional<std::string_view> Parsed::last(Opt option) const {
  for (auto it = values_.rbegin(); it != values_.rend(); ++it) {
    if (it->first == option) return it->second;
  }
  return std::nullopt;
}

namespace {

const OptionSpec* find_option(Command command, std::string_view name) {
  for (const auto& o : options()) {
    if (applies(o, command) && (o.name == name || (!o.short_name.empty() && o.short_name == name))) return &o;
  }
  return nullptr;
}

Error unknown_option(Command command, std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& o : options()) {
    if (applies(o, command) && !o.hidden) names.push_back(o.name);
  }
  auto near = did_you_mean(name, names);
  if (near.empty()) near = cat("; see hotcell ", command_spec(command).name, " --help");
  return make_error(ErrorCode::kInvalid, cat("unknown option ", printable(name), near));
}

std::string_view name_of(Opt option) {
  for (const auto& o : options()) {
    if (o.id == option) return o.name;
  }
  return {};
}

// The verbs that do read it, where these are few enough to be a hint.
std::string read_by(Command command, Opt option) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> names;
  for (const auto& v : verbs()) {
    if (v.command != command || !v.reads.has(option)) continue;
    names.push_back(cat("`hotcell ", command_spec(command).name, " ", v.name, "`"));
  }
  if (names.empty() || names.size() > kMost) return {};
  std::string last = std::move(names.back());
  names.pop_back();
  return cat(" but of ", join(names, ", "), names.empty() ? "" : " and ", last);
}

Result<void> check_verb(Command command, const Parsed& parsed) {
  const VerbSpec* verb = find_verb(command, parsed.words);
  if (verb == nullptr || parsed.has(Opt::kHelp)) return {};
  for (const auto& [option, value] : parsed.values()) {
    if (verb->reads.has(option)) continue;
    const std::string called = cat(command_spec(command).name, " ", verb->name);
    // `cell exec NAME git diff --patch`: it is the program's, and the words for that are missing.
    const bool of_program = verb->name == "exec" && !parsed.dashes;
    auto hint = of_program ? "; a program and its options come after --" : "";
    return make_error(ErrorCode::kInvalid, cat(name_of(option), " is no option of `hotcell ", called, "`",
                                               read_by(command, option), hint, "; see hotcell help ", called));
  }
  return {};
}

Result<void> check_value(const OptionSpec& option, std::string_view value) {
  if (!option.value.empty() && value.empty()) {
    return make_error(ErrorCode::kInvalid, cat(option.name, ": the value is empty; expected ", option.value));
  }
  if (option.choices.empty()) return {};
  auto choices = split(option.choices, '|');
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return {};
  std::string list;
  for (auto c : choices) list += cat(list.empty() ? "" : ", ", c);
  return make_error(ErrorCode::kInvalid, cat(option.name, ": unknown value '", printable(value), "'; one of ", list));
}

}  // namespace

Result<Parsed> parse(Command command, std::span<const std::string_view> args) {
  Parsed parsed;
  const bool program_follows = command_spec(command).program_follows;
  std::size_t i = 0;
  for (; i < args.size(); ++i) {
    auto arg = args[i];
    if (arg == "--") {
      parsed.dashes = true;
      ++i;
      break;
    }
    if (arg.size() < 2 || arg[0] != '-') {
      if (program_follows) break;
      parsed.words.push_back(arg);
      continue;
    }
    auto equals = arg.starts_with("--") ? arg.find('=') : std::string_view::npos;
    auto name = arg.substr(0, equals);
    const auto* option = find_option(command, name);
    if (option == nullptr) return unknown_option(command, name);
    std::string_view value;
    if (option->value.empty()) {
      if (equals != std::string_view::npos) {
        return make_error(ErrorCode::kInvalid, cat(option->name, " takes no value"));
      }
    } else if (equals != std::string_view::npos) {
      value = arg.substr(equals + 1);
    } else if (i + 1 < args.size()) {
      value = args[++i];
    } else {
      return make_error(ErrorCode::kInvalid, cat(option->name, " needs a value: ", option->value));
    }
    TRY(check_value(*option, value));
    parsed.values_.emplace_back(option->id, value);
  }
  parsed.words.insert(parsed.words.end(), args.begin() + static_cast<std::ptrdiff_t>(i), args.end());
  TRY(check_verb(command, parsed));
  return parsed;
}

bool wants_json(Command command, std::span<const std::string_view> args) {
  bool value_next = false;
  for (auto arg : args) {
    if (value_next) {
      value_next = false;
      continue;
    }
    if (arg == "--") return false;
    if (arg == "--json") return true;
    const auto* option = find_option(command, arg);
    if (option != nullptr) value_next = !option->value.empty();
    else if ((arg.empty() || arg[0] != '-') && command_spec(command).program_follows) return false;
  }
  return false;
}

}  // namespace hotcell
