#include "base/strings.h"
#include "cells/contexts/context.h"
#include "languages/common/warm.h"

namespace hotcell::cells {
namespace {

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (auto at = text.find(what); at != text.npos; at = text.find(what, at + by.size())) text.replace(at, what.size(), by);
}

}  // namespace

std::string jobs_driver(int scratch) {
  std::string text(warm_prelude("driver_jobs.sh"));
  replace_all(text, "HC_NOTES", cat(scratch));
  return text;
}

std::string_view context_language(std::string_view name) {
  if (name == "python" || name == "python3" || name == "py") return "python";
  if (name == "javascript" || name == "js" || name == "node") return "javascript";
  if (name == "bash" || name == "sh" || name == "shell") return "bash";
  return {};
}

Result<std::vector<std::string>> driver_argv(std::string_view name, int requests, int answers, int scratch) {
  std::string_view language = context_language(name);
  std::string in = cat(requests), out = cat(answers);
  if (language == "python") {
    // Builtins of the driver's own: code that replaces some does it to itself.
    return std::vector<std::string>{"python3", "-c",
                                    "import sys, builtins\n"
                                    "exec(compile(sys.argv.pop(), '<hotcell>', 'exec'), {'__builtins__': dict(vars(builtins)), '__name__': 'hotcell'})",
                                    in, out, cat(warm_prelude("show.py"), warm_prelude("driver.py"))};
  }
  if (language == "javascript") return std::vector<std::string>{"node", "-e", std::string(warm_prelude("driver.js")), in, out};
  if (language == "bash") {
    std::string driver(warm_prelude("driver.sh"));
    replace_all(driver, "HC_REQUESTS", in);
    replace_all(driver, "HC_ANSWERS", out);
    replace_all(driver, "HC_SCRATCH", cat(scratch));
    replace_all(driver, "HC_JOBS", jobs_driver(17));
    return std::vector<std::string>{"bash", "-c", "PROMPT_COMMAND=$0 exec bash --noprofile --norc --noediting -i 14>&2 2>/dev/null", std::move(driver)};
  }
  return make_error(ErrorCode::kInvalid, cat("no context for ", printable(name), "; there are python, javascript and bash"));
}

}  // namespace hotcell::cells
