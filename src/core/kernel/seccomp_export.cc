#include "core/kernel/seccomp_export.h"

#include <cerrno>
#include <cstring>
#include <map>

#include "base/strings.h"

namespace hotcell {
namespace {

// ---- text ----

std::string hex(std::uint64_t n) {
  char buf[20];
  auto end = std::to_chars(buf, buf + sizeof buf, n, 16).ptr;
  return "0x" + std::string(buf, end);
}

std::string_view errno_name(int err) {
  switch (err) {
    case 0:
      return "success";
    case EPERM:
      return "EPERM";
    case ENOENT:
      return "ENOENT";
    case EINVAL:
      return "EINVAL";
    case ENOSYS:
      return "ENOSYS";
    case EOPNOTSUPP:
      return "EOPNOTSUPP";
    case EAFNOSUPPORT:
      return "EAFNOSUPPORT";
    case EPROTONOSUPPORT:
      return "EPROTONOSUPPORT";
    default:
      return "an error";
  }
}

std::string describe(Answer a, bool notify) {
  switch (a.ruling) {
    case Ruling::kAllow:
      return "allow";
    case Ruling::kNotify:
      return notify ? "deny+record" : "deny";
    case Ruling::kErrno:
      return cat("answer ", errno_name(a.err));
    case Ruling::kKill:
      break;
  }
  return "kill";
}

std::string describe(const Condition& c) {
  const std::string arg = cat("arg", static_cast<int>(c.arg));
  const bool whole = c.mask == 0xffffffff || c.mask == ~0ULL;
  switch (c.op) {
    case Compare::kNone:
      return "always";
    case Compare::kMaskedEqual:
      return whole ? cat(arg, " == ", hex(c.value)) : cat("(", arg, " & ", hex(c.mask), ") == ", hex(c.value));
    case Compare::kAnyBit:
      return cat("(", arg, " & ", hex(c.mask), ") != 0");
    case Compare::kNotEqual:
      return cat(arg, " != ", hex(c.value));
    case Compare::kLess:
      return cat(arg, " < ", hex(c.value));
    case Compare::kLessEqual:
      return cat(arg, " <= ", hex(c.value));
    case Compare::kGreater:
      return cat(arg, " > ", hex(c.value));
    case Compare::kGreaterEqual:
      return cat(arg, " >= ", hex(c.value));
  }
  return {};
}

std::string text_of(const FilterModel& model, bool notify) {
  std::string out;
  out += "kill: every call of a foreign ABI (i386, x32, 32-bit ARM)  # another numbering would pass by every rule\n";
  for (const CallRule& rule : model.rules)
    for (const Clause& clause : rule.clauses) {
      std::string when;
      for (const Condition& c : clause.all) when += cat(when.empty() ? "" : " and ", describe(c));
      out += cat(describe(clause.answer, notify), ": ", rule.name, " if ", when, "  # ", clause.reason, "\n");
    }
  // One line per group of calls that share answer and reason, in the order of their first member.
  std::vector<std::pair<const CallRule*, std::string>> lines;
  for (const CallRule& rule : model.rules) {
    bool found = false;
    for (auto& [first, names] : lines)
      if (first->otherwise == rule.otherwise && first->reason == rule.reason) {
        names += cat(" ", rule.name);
        found = true;
        break;
      }
    if (!found) lines.emplace_back(&rule, rule.name);
  }
  for (const auto& [first, names] : lines)
    out += cat(describe(first->otherwise, notify), ": ", names, "  # ", first->reason, "\n");
  out += "answer ENOSYS: everything else, also numbers yet unknown  # libc falls back to an older call\n";
  return out;
}

// ---- oci ----
// OCI rules have no order and libseccomp lets an unconditional rule erase conditional ones, so "all but these
// arguments" must be said as a set of arguments that are allowed. Sets of arguments are unions of cubes: some bits of
// each argument fixed, the others free. Taking a cube out of another leaves at most one cube per fixed bit.

struct Cube {
  std::uint64_t mask[6] = {}, value[6] = {};
};

bool meet(const Cube& a, const Cube& b, Cube& out) {
  for (int i = 0; i < 6; ++i) {
    if ((a.mask[i] & b.mask[i]) & (a.value[i] ^ b.value[i])) return false;
    out.mask[i] = a.mask[i] | b.mask[i];
    out.value[i] = a.value[i] | b.value[i];
  }
  return true;
}

void subtract(Cube from, const Cube& what, std::vector<Cube>& out) {
  Cube unused;
  if (!meet(from, what, unused)) return out.push_back(from);
  for (int i = 0; i < 6; ++i)
    for (int bit = 63; bit >= 0; --bit) {
      const std::uint64_t b = 1ULL << bit;
      if (!(what.mask[i] & b) || (from.mask[i] & b)) continue;
      Cube rest = from;
      rest.mask[i] |= b;
      rest.value[i] |= ~what.value[i] & b;
      out.push_back(rest);
      from.mask[i] |= b;
      from.value[i] |= what.value[i] & b;
    }
}

bool condition_cubes(const Condition& c, std::vector<Cube>& out) {
  Cube cube;
  switch (c.op) {
    case Compare::kMaskedEqual:
      cube.mask[c.arg] = c.mask;
      cube.value[c.arg] = c.value;
      out.push_back(cube);
      return true;
    case Compare::kAnyBit:
      for (std::uint64_t b = 1; b && b <= c.mask; b <<= 1)
        if (c.mask & b) {
          cube.mask[c.arg] = cube.value[c.arg] = b;
          out.push_back(cube);
        }
      return true;
    case Compare::kNotEqual: {
      Cube equal;
      equal.mask[c.arg] = ~0ULL;
      equal.value[c.arg] = c.value;
      subtract(cube, equal, out);
      return true;
    }
    default:
      return false;
  }
}

Result<std::vector<Cube>> clause_cubes(const Clause& clause, std::string_view name) {
  std::vector<Cube> all(1);
  for (const Condition& c : clause.all) {
    std::vector<Cube> parts, next;
    if (!condition_cubes(c, parts))
      return make_error(ErrorCode::kUnsupported, cat("export of ", name,
                                                     ": OCI profiles cannot say 'less' or 'greater' of what "
                                                     "is left after syscalls.file; export bpf instead"));
    for (const Cube& a : all)
      for (const Cube& b : parts)
        if (Cube both; meet(a, b, both)) next.push_back(both);
    all = std::move(next);
  }
  return all;
}

Result<std::vector<Cube>> allowed_cubes(const CallRule& rule) {
  std::vector<Cube> left(1), allowed;
  for (const Clause& clause : rule.clauses) {
    TRY_SET(const std::vector<Cube> cubes, clause_cubes(clause, rule.name));
    for (const Cube& cube : cubes) {
      std::vector<Cube> next;
      for (const Cube& l : left) {
        if (Cube both; clause.answer == kAllow && meet(l, cube, both)) allowed.push_back(both);
        subtract(l, cube, next);
      }
      left = std::move(next);
    }
  }
  if (rule.otherwise == kAllow) allowed.insert(allowed.end(), left.begin(), left.end());
  return allowed;
}

void write_names(std::string& out, const std::vector<std::string_view>& names) {
  out += "    {\"names\": [";
  for (std::size_t i = 0; i < names.size(); ++i) out += cat(i ? ", \"" : "\"", names[i], "\"");
  out += "], ";
}

Result<std::string> oci_of(const FilterModel& model) {
  std::vector<std::string> rules;
  std::vector<std::string_view> allowed;
  std::map<int, std::vector<std::string_view>> refused;  // by errno; ENOSYS is the default
  std::vector<std::string_view> killed;
  for (const CallRule& rule : model.rules) {
    if (!rule.clauses.empty()) {
      TRY_SET(const std::vector<Cube> cubes, allowed_cubes(rule));
      for (const Cube& cube : cubes) {
        std::string args, line;
        for (int i = 0; i < 6; ++i)
          if (cube.mask[i])
            args += cat(args.empty() ? "" : ", ", "{\"index\": ", i, ", \"value\": ", cube.mask[i],
                        ", \"valueTwo\": ", cube.value[i], ", \"op\": \"SCMP_CMP_MASKED_EQ\"}");
        write_names(line, {rule.name});
        rules.push_back(line + cat("\"action\": \"SCMP_ACT_ALLOW\", \"args\": [", args, "]}"));
      }
    } else if (rule.otherwise == kAllow) {
      allowed.push_back(rule.name);
    } else if (rule.otherwise == kKill) {
      killed.push_back(rule.name);
    } else {
      const int err = rule.otherwise.ruling == Ruling::kNotify ? EPERM : rule.otherwise.err;
      if (err != ENOSYS) refused[err].push_back(rule.name);
    }
  }
  auto add_group = [&](const std::vector<std::string_view>& names, std::string_view action) {
    if (names.empty()) return;
    std::string line;
    write_names(line, names);
    rules.push_back(line + cat("\"action\": ", action, "}"));
  };
  add_group(allowed, "\"SCMP_ACT_ALLOW\"");
  add_group(killed, "\"SCMP_ACT_KILL_PROCESS\"");
  for (const auto& [err, names] : refused) add_group(names, cat("\"SCMP_ACT_ERRNO\", \"errnoRet\": ", err));
  return cat("{\n  \"defaultAction\": \"SCMP_ACT_ERRNO\",\n  \"defaultErrnoRet\": ", ENOSYS,
             ",\n  \"architectures\": [\"", model.arch == Arch::kX86_64 ? "SCMP_ARCH_X86_64" : "SCMP_ARCH_AARCH64",
             "\"],\n  \"syscalls\": [\n", join(rules, ",\n"), "\n  ]\n}\n");
}

}  // namespace

Result<std::string> export_seccomp(const SeccompRequest& request, std::string_view format) {
  if (format == "bpf") {
    TRY_SET(const SeccompProgram program, plan_seccomp(request));
    std::string bytes(program.insns.size() * sizeof program.insns[0], '\0');
    std::memcpy(bytes.data(), program.insns.data(), bytes.size());
    return bytes;
  }
  if (format != "oci" && format != "text")
    return make_error(ErrorCode::kInvalid,
                      cat("seccomp: unknown format '", printable(format), "'; there are bpf, oci and text"));
  TRY_SET(const FilterModel model, model_seccomp(request));
  if (format == "oci") return oci_of(model);
  return text_of(model, request.notify);
}

}  // namespace hotcell
