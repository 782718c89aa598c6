// `cache show` and `cache clear`: what compiling has left behind for the next time.
#include "base/json_write.h"
#include "base/strings.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/say.h"
#include "core/policy/units.h"
#include "store/artefact_cache.h"

namespace hotcell {

namespace {

Result<int> run(const Parsed& parsed) {
  TRY_SET(ArtefactCache cache, ArtefactCache::open(ArtefactCache::standard_folder()));
  const bool clear = parsed.words[0] == "clear";
  CacheStats stats = cache.stats();
  if (clear) {
    TRY_SET(stats, cache.clear());
  }
  if (!parsed.has(Opt::kJson)) {
    auto what = cat(stats.entries, stats.entries == 1 ? " entry, " : " entries, ", format_bytes(stats.bytes));
    if (clear) return print(cat("removed ", what, "\n"));
    return print(cat(printable(cache.folder()), ": ", what, " of at most ", format_bytes(cache.limit()), "\n"));
  }
  JsonWriter w;
  w.begin_object();
  w.field("folder", cache.folder());
  w.field(clear ? "removed_entries" : "entries", stats.entries);
  w.field(clear ? "removed_bytes" : "bytes", stats.bytes.n);
  w.field("limit_bytes", cache.limit().n);
  w.end_object();
  return print(w.take() + "\n");
}

}  // namespace

int cmd_cache(Args args) {
  auto parsed = parse(Command::kCache, args);
  if (!parsed.ok()) return refuse(parsed.error());
  const auto& p = parsed.value();
  if (p.has(Opt::kHelp)) return print(help_text(Command::kCache, p.words));
  if (p.words.size() != 1 || (p.words[0] != "show" && p.words[0] != "clear"))
    return refuse(make_error(ErrorCode::kInvalid, "cache: expected show or clear"));
  auto done = run(p);
  if (done.ok()) return done.value();
  auto error = std::move(done).error();
  error.code = ErrorCode::kInvalid;  // 127 is for programs
  return refuse(error);
}

}  // namespace hotcell
