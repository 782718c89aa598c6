// `hotcell run -- /bin/true` with no daemon and all layers, against bubblewrap showing the same files.
// Usage: bench_oneshot [rounds] [path of hotcell]
#include <cstdlib>

#include "core/kernel/etc_settings.h"
#include "measure.h"
#include "spawn.h"

using namespace hotcell;

int main(int argc, char** argv) {
  int rounds = argc > 1 ? std::atoi(argv[1]) : 200;
  std::string self(4096, '\0');
  self.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::readlink("/proc/self/exe", self.data(), self.size()))));
  std::string hotcell = argc > 2 ? argv[2] : self.substr(0, self.rfind('/') + 1) + "hotcell";
  std::vector<std::string> words = {"/usr/bin/bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv",
                                    "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib",
                                    "--symlink", "usr/lib64", "/lib64", "--symlink", "usr/sbin", "/sbin"};
  // The same names in /etc: those that a cell has from the host, and those that it has of its own.
  for (const auto& setting : etc_settings()) {
    bool link = !setting.leads_to.empty();
    words.insert(words.end(), {link ? "--symlink" : "--ro-bind", link ? setting.leads_to : setting.path, setting.path});
  }
  for (const char* made : {"/etc/passwd", "/etc/group", "/etc/hosts", "/etc/hostname", "/etc/nsswitch.conf", "/etc/resolv.conf"})
    words.insert(words.end(), {"--ro-bind-try", made, made});
  words.insert(words.end(), {"--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/work", "--chdir", "/work", "/bin/true"});
  std::vector<const char*> bwrap;
  for (const auto& word : words) bwrap.push_back(word.c_str());
  std::vector<bench::Subject> subjects;
  subjects.push_back({"bwrap --unshare-all, the same files", [&] { return bench::fork_exec_wait(bwrap); }});
  subjects.push_back({"hotcell run -- /bin/true", [&] { return bench::fork_exec_wait({hotcell.c_str(), "run", "--", "/bin/true"}); }});
  subjects.push_back({"bare /bin/true", [&] { return bench::fork_exec_wait({"/bin/true"}); }});
  if (!bench::interleave(subjects, rounds)) return 1;
  bench::table(subjects);
  std::printf("ratio %.2f\n", subjects[1].median() / subjects[0].median());
}
