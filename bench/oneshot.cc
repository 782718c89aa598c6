// `hotcell run -- /bin/true` with no daemon and all layers, against bubblewrap showing the same files.
// Usage: bench_oneshot [rounds] [path of hotcell]
#include <cstdlib>

#include "measure.h"
#include "spawn.h"

int main(int argc, char** argv) {
  int rounds = argc > 1 ? std::atoi(argv[1]) : 200;
  std::string self(4096, '\0');
  self.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::readlink("/proc/self/exe", self.data(), self.size()))));
  std::string hotcell = argc > 2 ? argv[2] : self.substr(0, self.rfind('/') + 1) + "hotcell";
  std::vector<const char*> bwrap = {"/usr/bin/bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv",
                                    "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib",
                                    "--symlink", "usr/lib64", "/lib64", "--symlink", "usr/sbin", "/sbin",
                                    "--ro-bind", "/etc/ld.so.cache", "/etc/ld.so.cache", "--ro-bind-try", "/etc/ssl/certs", "/etc/ssl/certs",
                                    "--ro-bind-try", "/etc/alternatives", "/etc/alternatives",
                                    "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/work", "--chdir", "/work", "/bin/true"};
  std::vector<bench::Subject> subjects;
  subjects.push_back({"bwrap --unshare-all, the same files", [&] { return bench::fork_exec_wait(bwrap); }});
  subjects.push_back({"hotcell run -- /bin/true", [&] { return bench::fork_exec_wait({hotcell.c_str(), "run", "--", "/bin/true"}); }});
  subjects.push_back({"bare /bin/true", [&] { return bench::fork_exec_wait({"/bin/true"}); }});
  if (!bench::interleave(subjects, rounds)) return 1;
  bench::table(subjects);
  std::printf("ratio %.2f\n", subjects[1].median() / subjects[0].median());
}
