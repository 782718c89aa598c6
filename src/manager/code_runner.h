// From a job to its report, on a worker's thread: a source is verified, compiled, started in a waiting runtime if there is
// one; a program that may use the network gets its proxy.
#pragma once
#include <memory>
#include <mutex>
#include <string>

#include "manager/live_execution.h"
#include "manager/warm.h"
#include "manager/workers.h"

namespace hotcell {

class CodeRunner {
 public:
  CodeRunner(std::string cache_folder, std::string journal_folder, Loop& loop)
      : cache_folder_(std::move(cache_folder)), journal_folder_(std::move(journal_folder)), loop_(loop) {}

  // Keeps runtimes of a language waiting, for programs under this policy before the runtime's needs were laid over it.
  void keep(Workers::Tools& tools, const Language& language, const Policy& policy, MayRaise raise, std::size_t count);

  // What the program does meanwhile is told on the loop's thread; `usage` there, too.
  using OnUsage = std::function<void(const LiveUsage&)>;
  Result<Report> run(const std::shared_ptr<LiveExecution>& live, Workers::Tools& tools, OnUsage usage);

 private:
  Result<Report> start(const std::shared_ptr<LiveExecution>& live, Workers::Tools& tools, OnUsage usage);

  std::string cache_folder_, journal_folder_;
  Loop& loop_;
  std::mutex mutex_;
  WarmRuntimes warm_;
};

}  // namespace hotcell
