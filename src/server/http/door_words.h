// Sentences of ours name options (`--allow-domain a.org`) and commands (`hotcell cell start x`): whoever reads them sits at a shell.
// Whoever asks by HTTP or MCP has neither. Here, and nowhere else, they become what those can do: a field of their request, or what
// the owner of this daemon can change: a profile, its configuration.
#pragma once
#include <string>
#include <string_view>

namespace hotcell::server {

// Where hosts that are refused would have to be named: by the request itself, or, for what is looked at without any, in the configuration.
enum class Hosts { kOfRequest, kOfConfiguration };

// What stands in double quotes is somebody else's, and stays. Fields that REST and MCP name differently are not used.
std::string door_words(std::string_view sentence, Hosts hosts = Hosts::kOfRequest);

// The same for a member of every object in a JSON text of ours; for answers that are passed on as they are.
std::string door_words_in(std::string json, std::string_view member);

}  // namespace hotcell::server
