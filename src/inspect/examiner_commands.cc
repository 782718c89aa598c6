// Commands that stand in a text: lines, what is in backticks, what is quoted.
#include <algorithm>
#include <set>

#include "base/strings.h"
#include "inspect/examiner.h"

namespace hotcell::inspect {

namespace {

constexpr std::size_t kLongestLine = 4096;  // more than that around a command is data
constexpr std::size_t kMostParsed = 16u << 10;  // of one line, which may begin again at every word

// Prompts and marks before a command: "$ ", "user@host:~$ ", "RUN ", "- ", "1. ", "> ".
std::string_view without_prompt(std::string_view line) {
  for (int i = 0; i < 4; ++i) {
    line = trim(line);
    std::size_t size = line.size();
    for (std::string_view mark : {"$ ", "# ", "> ", "% ", "- ", "* ", "+ ", "RUN ", "run: ", "```", "`", "// "})
      if (line.starts_with(mark)) line.remove_prefix(mark.size());
    std::size_t prompt = line.substr(0, 60).find("$ ");
    if (prompt != line.npos && line.substr(0, prompt).find('@') != line.npos && line.substr(0, prompt).find(' ') == line.npos)
      line.remove_prefix(prompt + 2);
    if (line.size() == size) break;
  }
  return line;
}

}  // namespace

void Examiner::take_commands(const View& view, const std::vector<std::size_t>& found, std::vector<Evidence>& evidence) {
  std::set<std::size_t> seen;
  for (std::size_t end : found) {
    // The name of the program ends there; the command is the line around it, or as much as is near in a very long one.
    std::size_t name = end > 0 ? end - 1 : 0;
    while (name > 0 && (view.text[name] == ' ' || view.text[name] == '\t')) --name;
    // Looked for nearby only: every command of one very long line would else read all of it again.
    std::size_t begin = name - std::min(name, name % kLongestLine + kLongestLine / 4), last = end + 2 * kLongestLine;
    std::string_view before = view.text.substr(begin, name - begin + 1), near = view.text.substr(0, last);
    if (auto line = before.rfind('\n'); line != before.npos) begin += line + 1;
    std::size_t stop = near.find('\n', end);
    while (stop != near.npos && stop > 0 && near[stop - 1] == '\\' && stop - begin < kLongestLine) stop = near.find('\n', stop + 1);
    stop = std::min({stop, view.text.size(), begin + 2 * kLongestLine});
    if (name < begin || !seen.insert(begin).second) continue;
    std::string_view line = view.text.substr(begin, stop - begin);
    std::size_t parsed = 0;
    std::vector<EgressHit> hits;
    find_egress(without_prompt(line), CommandPlace::kMentioned, options_.allowed_domains, hits);
    // Within the line: what is quoted, or follows other words.
    for (std::size_t at = 0; hits.empty() && at < line.size(); ++at) {
      if (at > 0 && line[at - 1] != ' ' && line[at - 1] != '"' && line[at - 1] != '\'' && line[at - 1] != '`' && line[at - 1] != '(') continue;
      bool starts = false;
      for (std::string_view program : {"curl ", "wget ", "nc ", "ncat ", "socat ", "ssh ", "scp ", "sftp ", "rsync ", "git push", "nslookup ", "dig ",
                                       "openssl s_client", "python3 -c", "python -c", "cat ", "tar ", "bash -", "perl -e", "ruby -e", "node -e"})
        starts = starts || line.substr(at).starts_with(program);
      if (!starts) continue;
      char quote = at > 0 ? line[at - 1] : ' ';
      std::string_view rest = line.substr(at);
      if (quote == '"' || quote == '\'' || quote == '`') {
        std::size_t close = rest.find(quote);
        if (close != rest.npos && !(close > 0 && rest[close - 1] == '\\')) rest = rest.substr(0, close);
      }
      if ((parsed += rest.size()) > kMostParsed) {
        limited(view, "too many commands in one line");
        break;
      }
      find_egress(rest, CommandPlace::kMentioned, options_.allowed_domains, hits);
      at += 2;
    }
    if (hits.empty()) continue;
    auto worst = std::max_element(hits.begin(), hits.end(), [](const auto& a, const auto& b) { return a.level < b.level; });
    static constexpr BuiltinRule kCommand{"command", "injection", "prompt_injection", "", "", "command", "", "", 0, ThreatLevel::kHigh, 6, true};
    // A line that runs what it fetches is how half of all programs are installed: evidence, where somebody is told to do it.
    bool runs = std::any_of(hits.begin(), hits.end(), [](const auto& h) { return h.runs; });
    if (worst->level >= ThreatLevel::kMedium) evidence.push_back({&kCommand, begin, stop, 5});
    else if (runs) evidence.push_back({&kCommand, begin, stop, 4});
    if (!wants(InspectKind::kEgress)) continue;
    InspectFinding f{InspectKind::kEgress, "egress", worst->level, "command", worst->message, snippet_of(line, 0, 80), 0, ""};
    if (view.hidden) f.level = std::max(f.level, ThreatLevel::kHigh);
    add(view, std::move(f), begin);
  }
}

void Examiner::examine_command(std::string_view text, CommandPlace place, std::vector<InspectFinding>& to) {
  if (!wants(InspectKind::kEgress)) return;
  std::vector<EgressHit> hits;
  std::string_view script = place == CommandPlace::kToRun ? text : without_prompt(text);
  find_egress(script, place, options_.allowed_domains, hits);
  std::size_t skipped = static_cast<std::size_t>(script.data() - text.data());
  for (const EgressHit& h : hits)
    to.push_back({InspectKind::kEgress, "egress", h.level, "command", h.message, snippet_of(script, h.begin, h.end), skipped + h.begin, ""});
}

}  // namespace hotcell::inspect
