// What serve, mcp and config are told: files, variables and their options in one.
#pragma once
#include "cli/options.h"
#include "server/config/load.h"

namespace hotcell {

// Files and variables as usual, `--config`, and every option that has a field; --ready-fd and --open have none (serve.cc, open_browser.h).
Result<server::ConfigSources> serve_sources(const Parsed& parsed);
Result<server::Config> serve_config(const Parsed& parsed);
// What the proxies of its cells may reach and do at most; checked here, where somebody reads the error.
Result<std::vector<std::string>> proxy_words(const server::Config& config);

}  // namespace hotcell
