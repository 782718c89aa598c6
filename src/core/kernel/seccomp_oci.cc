#include "core/kernel/seccomp_oci.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <map>

#include "base/strings.h"

namespace hotcell {
namespace {

namespace json = boost::json;
using Conjunction = std::vector<Condition>;
constexpr std::string_view kReason = "not allowed by syscalls.file";

Error bad(std::string_view what) { return make_error(ErrorCode::kInvalid, cat("syscalls.file: ", what)); }

struct OciCall {
  bool allowed = false;        // without conditions
  std::vector<Answer> denied;  // the same
  std::vector<Conjunction> allowed_when;
  std::vector<std::pair<Conjunction, Answer>> denied_when;
};
struct OciProfile {
  Answer fallback;
  std::map<std::string, OciCall, std::less<>> calls;
};

const json::value* get(const json::object& o, std::string_view key) {
  auto it = o.find(key);
  return it == o.end() || it->value().is_null() ? nullptr : &it->value();
}

Result<std::uint64_t> number(const json::object& o, std::string_view key, std::uint64_t absent) {
  const json::value* v = get(o, key);
  if (!v) return absent;
  json::error_code ec;
  const auto n = v->to_number<std::uint64_t>(ec);
  if (ec) return bad(cat("'", key, "' is not a number from 0 to 2^64-1"));
  return n;
}

Result<Answer> parse_action(const json::object& o, std::string_view key, std::string_view errno_key) {
  const json::value* v = get(o, key);
  if (!v || !v->is_string()) return bad(cat("'", key, "' is missing or not a string"));
  const std::string_view name = v->get_string();
  if (name == "SCMP_ACT_ALLOW" || name == "SCMP_ACT_LOG") return kAllow;
  if (name == "SCMP_ACT_ERRNO") {
    TRY_SET(const std::uint64_t err, number(o, errno_key, EPERM));
    // Quiet only where the profile wants libc to fall back; other refusals are worth a record.
    return err == ENOSYS ? refuse(ENOSYS) : kNotify;
  }
  if (name == "SCMP_ACT_NOTIFY") return kNotify;
  if (name == "SCMP_ACT_TRACE") return refuse(ENOSYS);  // what the kernel answers where nobody traces
  if (name == "SCMP_ACT_KILL" || name == "SCMP_ACT_KILL_PROCESS" || name == "SCMP_ACT_KILL_THREAD" ||
      name == "SCMP_ACT_TRAP")
    return kKill;
  return bad(cat("unknown action '", printable(name), "'"));
}

Result<Condition> parse_condition(const json::value& v) {
  if (!v.is_object()) return bad("an entry of 'args' is not an object");
  const json::object& o = v.get_object();
  TRY_SET(const std::uint64_t index, number(o, "index", 6));
  if (index > 5) return bad("an 'index' in 'args' is missing or greater than 5");
  TRY_SET(const std::uint64_t value, number(o, "value", 0));
  TRY_SET(const std::uint64_t second, number(o, "valueTwo", 0));
  const json::value* op = get(o, "op");
  if (!op || !op->is_string()) return bad("an entry of 'args' has no 'op'");
  const std::string_view name = op->get_string();
  const auto arg = static_cast<std::uint8_t>(index);
  if (name == "SCMP_CMP_MASKED_EQ") return Condition{arg, Compare::kMaskedEqual, value, second & value};
  if (name == "SCMP_CMP_EQ") return Condition{arg, Compare::kMaskedEqual, ~0ULL, value};
  if (name == "SCMP_CMP_NE") return Condition{arg, Compare::kNotEqual, ~0ULL, value};
  if (name == "SCMP_CMP_LT") return Condition{arg, Compare::kLess, ~0ULL, value};
  if (name == "SCMP_CMP_LE") return Condition{arg, Compare::kLessEqual, ~0ULL, value};
  if (name == "SCMP_CMP_GT") return Condition{arg, Compare::kGreater, ~0ULL, value};
  if (name == "SCMP_CMP_GE") return Condition{arg, Compare::kGreaterEqual, ~0ULL, value};
  return bad(cat("unknown comparison '", printable(name), "'"));
}

// One conjunction, except that conditions on one and the same argument are alternatives: so the OCI runtimes read it.
Result<std::vector<Conjunction>> parse_args(const json::object& rule) {
  std::vector<Conjunction> out;
  const json::value* args = get(rule, "args");
  if (!args) return out;
  if (!args->is_array()) return bad("'args' is not a list");
  Conjunction all;
  bool repeated = false;
  for (const json::value& v : args->get_array()) {
    TRY_SET(const Condition c, parse_condition(v));
    for (const Condition& other : all) repeated |= other.arg == c.arg;
    all.push_back(c);
  }
  if (all.empty()) return out;
  if (!repeated)
    out.push_back(std::move(all));
  else
    for (const Condition& c : all) out.push_back({c});
  return out;
}

bool mentions(const json::object& filter, std::string_view key, std::string_view what) {
  const json::value* list = get(filter, key);
  if (!list || !list->is_array()) return false;
  for (const json::value& v : list->get_array())
    if (v.is_string() && (what.empty() || std::string_view(v.get_string()) == what)) return true;
  return false;
}

// Docker's conditions on a rule. A cell has no capabilities, so what is for their holders is not for it.
bool applies(const json::object& rule, Arch arch) {
  const std::string_view own = arch == Arch::kX86_64 ? "amd64" : "arm64";
  if (const json::value* v = get(rule, "includes"); v && v->is_object()) {
    if (mentions(v->get_object(), "caps", "")) return false;
    if (mentions(v->get_object(), "arches", "") && !mentions(v->get_object(), "arches", own)) return false;
  }
  if (const json::value* v = get(rule, "excludes"); v && v->is_object())
    if (mentions(v->get_object(), "arches", own)) return false;
  return true;
}

Result<void> parse_rule(const json::value& v, Arch arch, OciProfile& profile) {
  if (!v.is_object()) return bad("an entry of 'syscalls' is not an object");
  const json::object& rule = v.get_object();
  TRY_SET(const Answer answer, parse_action(rule, "action", "errnoRet"));
  TRY_SET(const std::vector<Conjunction> whens, parse_args(rule));
  std::vector<std::string_view> names;
  if (const json::value* one = get(rule, "name"); one && one->is_string()) names.push_back(one->get_string());
  if (const json::value* many = get(rule, "names"); many && many->is_array())
    for (const json::value& n : many->get_array()) {
      if (!n.is_string()) return bad("an entry of 'names' is not a string");
      names.push_back(n.get_string());
    }
  if (names.empty()) return bad("an entry of 'syscalls' has no 'names'");
  if (!applies(rule, arch)) return {};
  // Names that we do not know need no error: such calls answer ENOSYS here anyway.
  for (std::string_view name : names) {
    OciCall& call = profile.calls[std::string(name)];
    if (whens.empty()) {
      if (answer == kAllow)
        call.allowed = true;
      else
        call.denied.push_back(answer);
    }
    for (const Conjunction& when : whens) {
      if (answer == kAllow)
        call.allowed_when.push_back(when);
      else
        call.denied_when.emplace_back(when, answer);
    }
  }
  return {};
}

Result<OciProfile> parse_profile(std::string_view text, Arch arch) {
  json::error_code ec;
  const json::value root = json::parse(text, ec);
  if (ec) return bad(cat("not JSON: ", ec.message()));
  const json::value* v = &root;
  if (v->is_object())  // a whole config.json of a container
    if (const json::value* l = get(v->get_object(), "linux"); l && l->is_object())
      if (const json::value* s = get(l->get_object(), "seccomp")) v = s;
  if (!v->is_object()) return bad("not an object");
  const json::object& o = v->get_object();
  OciProfile profile;
  TRY_SET(profile.fallback, parse_action(o, "defaultAction", "defaultErrnoRet"));
  if (const json::value* rules = get(o, "syscalls")) {
    if (!rules->is_array()) return bad("'syscalls' is not a list");
    for (const json::value& rule : rules->get_array()) TRY(parse_rule(rule, arch, profile));
  }
  return profile;
}

// Both at once; false when they exclude each other.
bool conjoin(Conjunction& into, const Conjunction& more) {
  for (const Condition& c : more) {
    bool done = false;
    for (Condition& known : into) {
      if (known.arg != c.arg) continue;
      if (known == c) done = true;
      if (known.op == Compare::kAnyBit && c.op == Compare::kMaskedEqual && (known.mask & ~c.mask) == 0 &&
          (known.mask & c.value) == 0)
        return false;
      if (known.op != Compare::kMaskedEqual || c.op != Compare::kMaskedEqual) continue;
      if ((known.mask & c.mask) & (known.value ^ c.value)) return false;
      known.mask |= c.mask;
      known.value |= c.value;
      done = true;
    }
    if (!done) into.push_back(c);
  }
  return true;
}

// Where ours allows under `ours`, the profile decides. Appends clauses; returns what is left when none of them holds.
Answer narrow(const Conjunction& ours, const OciCall& call, Answer fallback, std::vector<Clause>& out) {
  auto add = [&](const Conjunction& when, Answer answer) {
    Conjunction both = ours;
    if (conjoin(both, when)) out.push_back({std::move(both), answer, kReason});
  };
  for (const auto& [when, answer] : call.denied_when) add(when, answer);
  if (!call.denied.empty())
    fallback = call.denied.front();
  else if (call.allowed)
    fallback = kAllow;
  if (fallback != kAllow)
    for (const Conjunction& when : call.allowed_when) add(when, kAllow);
  return fallback;
}

void narrow_rule(CallRule& rule, const OciCall& call, Answer fallback) {
  std::vector<Clause> clauses;
  for (Clause& clause : rule.clauses) {
    if (clause.answer != kAllow) {
      clauses.push_back(std::move(clause));
      continue;
    }
    const Answer rest = narrow(clause.all, call, fallback, clauses);
    clauses.push_back({std::move(clause.all), rest, rest == kAllow ? clause.reason : kReason});
  }
  if (rule.otherwise == kAllow) {
    rule.otherwise = narrow({}, call, fallback, clauses);
    if (rule.otherwise != kAllow) rule.reason = kReason;
  }
  rule.clauses = std::move(clauses);
}

}  // namespace

Result<void> intersect_oci(FilterModel& model, std::string_view text) {
  TRY_SET(const OciProfile profile, parse_profile(text, model.arch));
  const OciCall unnamed;
  for (CallRule& rule : model.rules) {
    auto it = profile.calls.find(rule.name);
    narrow_rule(rule, it == profile.calls.end() ? unnamed : it->second, profile.fallback);
    const bool taken = rule.otherwise != kAllow && std::none_of(rule.clauses.begin(), rule.clauses.end(),
                                                                [](const Clause& c) { return c.answer == kAllow; });
    if (taken && contains_name(needed_to_start(), rule.name))
      return bad(cat("it denies ", rule.name, ", without which no program could start in the cell"));
  }
  return {};
}

}  // namespace hotcell
