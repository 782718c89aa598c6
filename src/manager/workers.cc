#include "manager/workers.h"

#include <condition_variable>
#include <system_error>
#include <thread>
#include <utility>

#include "base/strings.h"

namespace hotcell {

struct Workers::Worker {
  std::unique_ptr<RemoteLauncher> launcher, for_verifier, for_readers;
  std::optional<Verifier> verifier;
  std::optional<RemoteInspector> inspector;
  std::uint64_t generation = 0;

  Workers* all = nullptr;
  std::condition_variable wake;
  Task task;            // these three under the mutex of all
  bool stop = false;
  bool busy = false;
  std::thread thread;   // last: all it uses outlives it

  // All of it or nothing: a launcher that dies half-way leaves no half of a worker.
  void connect(RemoteLauncher* to) {
    disconnect();
    if (!connect_all(to).ok()) disconnect();  // the task is told
  }

  Result<void> connect_all(RemoteLauncher* to) {
    if (to == nullptr) return make_error(ErrorCode::kInternal, "there is no launcher process");
    TRY_SET(launcher, to->connect());
    TRY_SET(for_verifier, to->connect());
    TRY_SET(for_readers, to->connect());
    VerifierOptions options;
    options.fresh_child = true;
    RemoteLauncher* link = for_verifier.get();
    options.spawn = [link](Bytes memory) -> Result<SpawnedVerifier> {
      TRY_SET(RemoteReader child, link->spawn_reader(remote::ReaderKind::kVerify, memory));
      SpawnedVerifier out;
      out.socket = child.socket.release();
      out.end = [link, number = child.number](int grace_ms) {
        return link->end_reader(number, grace_ms > 0).value_or(0);
      };
      return out;
    };
    verifier.emplace(std::move(options));
    inspector.emplace(*for_readers);
    return {};
  }

  void disconnect() {
    verifier.reset(), inspector.reset();
    launcher.reset(), for_verifier.reset(), for_readers.reset();
  }

  void work() {
    std::unique_lock lock(all->mutex_);
    for (;;) {
      wake.wait(lock, [&] { return stop || task; });
      if (!task) return;
      Task now = std::exchange(task, nullptr);
      lock.unlock();
      if (launcher) {
        Tools tools{*launcher, *verifier, *inspector, *for_readers};
        now(&tools);
      } else {
        now(make_error(ErrorCode::kInternal, "there is no connection to the launcher process"));
      }
      now = nullptr;
      // A launcher that was given up must not live on for our sake.
      if (generation != all->generation_) disconnect();
      if (verifier && verifier->asked()) verifier->park().ignore("the next source will say so");   // one of its own, while nobody waits
      lock.lock();
      if (!all->line_.empty() && launcher) {
        task = std::move(all->line_.front());
        all->line_.pop_front();
        continue;
      }
      busy = false;
      all->serve_line();
    }
  }
};

Workers::Workers(std::size_t most) : most_(most) {}

Workers::~Workers() {
  {
    std::lock_guard lock(mutex_);
    line_.clear();
    for (auto& w : workers_) w->stop = true;
  }
  for (auto& w : workers_) w->wake.notify_one();
  for (auto& w : workers_) w->thread.join();
}

void Workers::use(RemoteLauncher* launcher) {
  std::lock_guard lock(mutex_);
  launcher_ = launcher;
  ++generation_;
  for (auto& w : workers_)
    if (!w->busy) w->disconnect();
}

// Nobody with a connection is left to take what waits: those who asked are told.
void Workers::serve_line() {
  for (auto& w : workers_)
    if (w->busy) return;
  while (!line_.empty()) {
    Task task = std::move(line_.front());
    line_.pop_front();
    task(make_error(ErrorCode::kInternal, "the launcher process has stopped"));
  }
}

void Workers::run(Task task) {
  std::lock_guard lock(mutex_);
  Worker* idle = nullptr;
  for (auto& w : workers_)
    if (!w->busy) idle = w.get();
  if (idle == nullptr) {
    if (workers_.size() >= most_) return line_.push_back(std::move(task));
    workers_.push_back(std::make_unique<Worker>());
    idle = workers_.back().get();
    idle->all = this;
    try {
      idle->thread = std::thread([idle] { idle->work(); });
    } catch (const std::system_error&) {
      // No more threads are to be had: those there are do it, one after the other.
      workers_.pop_back();
      if (!workers_.empty()) return line_.push_back(std::move(task));
      return task(make_error(ErrorCode::kLimit, "no thread can be started"));
    }
  }
  if (idle->generation != generation_ || !idle->launcher || !idle->launcher->connected()) {
    idle->generation = generation_;
    idle->connect(launcher_);
  }
  idle->busy = true;
  idle->task = std::move(task);
  idle->wake.notify_one();
}

}  // namespace hotcell
