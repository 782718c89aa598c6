// Lasting cells as a user has them: a state folder and a project of this test's own, the program called with them, and
// nothing left behind: no keeper, no process, no control group.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "cells/keeper/client.h"
#include "e2e/cli.h"
#include "e2e/json.h"
#include "support/cells.h"

namespace hotcell::testing {

class Cells : public E2e {
 protected:
  void SetUp() override;
  void TearDown() override;

  const std::string& state() const { return state_->path(); }
  const std::string& project() const { return project_->path(); }
  // A file of the project; folders on the way are made.
  void put(const std::string& name, std::string_view text, unsigned mode = 0644) const;
  std::string in_project(const std::string& name) const { return read_text(project() + "/" + name); }

  // `hotcell cell WORDS` with this test's state folder.
  std::vector<std::string> cell_words(std::vector<std::string> words) const;
  Called cell(std::vector<std::string> words, std::string input = {}) const;
  std::string good(std::vector<std::string> words, std::string input = {}) const;  // its stdout; anything but 0 fails the test
  Json json(std::vector<std::string> words) const;                                // with --json; anything but 0 fails the test
  // Fails the test unless it is refused: 125, nothing on stdout, and one line that holds `sentence`.
  void refused(std::vector<std::string> words, const std::string& sentence) const;

  // `cell create --name NAME --from PROJECT`; its id.
  std::string create(const std::string& name, std::vector<std::string> more = {}) const;
  Called exec(const std::string& name, std::vector<std::string> argv, std::string input = {}) const;
  std::string sh(const std::string& name, const std::string& script) const;       // stdout of `sh -c`; anything but 0 fails the test
  Called shell(const std::string& name, const std::string& command, std::vector<std::string> options = {}) const;
  Json shell_json(const std::string& name, const std::string& command, std::vector<std::string> options = {}) const;  // any code
  Json inspect(const std::string& name) const { return json({"inspect", name}); }
  bool status_within(const std::string& name, const std::string& status, std::chrono::milliseconds time = std::chrono::seconds(20)) const;

  // Files are stamped by a clock that is some milliseconds behind: what is written after this is later than the cell.
  void settle() const;
  std::string everything(const std::string& name) const;  // that is in the cell's workspace: names, modes, links and contents

  cells::KeeperClient client() const;      // a keeper is started where none is
  // One that was started with this in its environment; it stays while the client does.
  cells::KeeperClient keeper_with(const std::string& variable) const;
  std::optional<pid_t> keeper() const;     // its pid, when one runs
  void end_keeper();                       // SIGTERM: in order
  static bool ended(pid_t pid);            // or waits to be buried
  void kill_keeper();                      // SIGKILL, and until its cells are gone; one that is frozen goes when the next keeper thaws it

 private:
  void wait_for_end(pid_t pid);
  std::unique_ptr<TempDir> state_, project_;
};

}  // namespace hotcell::testing
