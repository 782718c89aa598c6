// Threads for what blocks: verifying, inspecting and compiling. Each has a connection to the launcher of its own, a verifier with
// another one, since that reads beside a running program on a thread of its own, and one for all other readers.
#pragma once
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "core/remote/remote_launcher.h"
#include "hotcell/verify.h"
#include "manager/remote_inspector.h"

namespace hotcell {

class Workers {
 public:
  struct Tools {
    RemoteLauncher& launcher;
    Verifier& verifier;   // each source in a child of its own
    RemoteInspector& inspector;
    RemoteLauncher& readers;   // asks for programs that read, beside a running program
  };
  using Task = std::function<void(Result<Tools*>)>;   // an error: no connection to the launcher could be made

  explicit Workers(std::size_t most);
  ~Workers();   // waits for what is being done

  // The launcher that new connections are asked of; belongs to the caller's thread, as run() does. Null: none.
  void use(RemoteLauncher* launcher);
  // Now, or when one of them has done what it does.
  void run(Task task);

 private:
  struct Worker;
  void serve_line();
  std::size_t most_;
  RemoteLauncher* launcher_ = nullptr;
  std::atomic<std::uint64_t> generation_ = 0;
  std::mutex mutex_;            // of the line, and of who is busy
  std::deque<Task> line_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace hotcell
