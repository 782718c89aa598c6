// What is known of a lasting cell while nobody runs it: one folder each, `<state>/cells/<id>/`.
//   cell.json     this record, replaced as a whole (written beside, synced, renamed)
//   policy.yaml   what its programs may do; never changes
//   upper work empty   the workspace's layers;  snapshots/   what was saved of it
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/policy.h"
#include "hotcell/report.h"
#include "hotcell/result.h"

namespace hotcell::cells {

using RecordTime = std::chrono::sys_time<std::chrono::nanoseconds>;

enum class CellState : std::uint8_t { kRunning, kPaused, kStopped, kTerminated };
std::string_view to_string(CellState state);

struct CellRecord {
  std::string id, name;
  std::string project;                        // absolute; empty: none
  std::map<std::string, std::string> env, labels;
  CellState state = CellState::kStopped;
  std::string reason;                         // why it is stopped or terminated
  RecordTime created{}, paused{}, resumed{}, stopped{}, used{};  // zero: never
  RecordTime base{};                          // what of the project is later was changed underneath
  Nanoseconds ttl{0}, idle_pause{0};          // zero: none
  bool paused_by_idleness = false;
  std::string paused_how;                     // "cgroup freezer", "SIGSTOP"
  std::string forked_from;                    // id
  std::string network_phase;                  // "setup": the network of its policy; "agent": none; empty: one phase only
  std::map<std::string, std::string> network; // of mode proxy, lines each: ceiling (words of hotcell-proxy), allow, block; sealed_at
  std::string being_made;                     // nobody was told of it yet: "starting", "filling"; empty: it is whole
  bool was_paused = false;                    // when its keeper ended: resume starts it
  std::string decisions;                      // YAML of decisions.h; empty: nothing is asked
  bool own_disk = false;                      // what it changes is in a file system of its own (layers_disk.h)
  std::vector<std::pair<std::string, std::pair<std::string, std::string>>> enforcement;  // layer, status, detail

  std::string program_state(std::size_t executions) const;  // running, idle, suspended, none
};

Result<CellRecord> parse_record(std::string_view json);
std::string record_json(const CellRecord& record);
Result<CellRecord> load_record(const std::string& folder);
Result<void> save_record(const std::string& folder, const CellRecord& record);

RecordTime now();
std::string rfc3339(RecordTime time);  // empty for none
std::string age_words(Nanoseconds age);  // 5s, 12m, 3h, 2d

// Temporary name, written, synced, renamed, the folder synced.
Result<void> replace_file(const std::string& path, std::string_view bytes);

}  // namespace hotcell::cells
