#include "inspect/literal_db.h"

#include <hs/hs.h>

#include <cstdlib>
#include <vector>

#include "base/strings.h"

namespace hotcell::inspect {

struct LiteralDb::Database {
  hs_database_t* db = nullptr;
  ~Database() { hs_free_database(db); }
};

class LiteralDb::Scratch {
 public:
  explicit Scratch(const hs_database_t* db) {
    if (hs_alloc_scratch(db, &scratch_) != HS_SUCCESS) scratch_ = nullptr;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { hs_free_scratch(scratch_); }
  hs_scratch_t* get() const { return scratch_; }

 private:
  hs_scratch_t* scratch_ = nullptr;
};

LiteralDb::LiteralDb(std::unique_ptr<Database> database) : database_(std::move(database)) {}
LiteralDb::~LiteralDb() = default;

Result<std::unique_ptr<LiteralDb>> LiteralDb::compile(std::span<const Literal> literals) {
  std::vector<const char*> texts;
  std::vector<unsigned> flags, ids;
  std::vector<std::size_t> sizes;
  for (const Literal& literal : literals) {
    texts.push_back(literal.text.data());
    sizes.push_back(literal.text.size());
    flags.push_back(literal.caseless ? unsigned{HS_FLAG_CASELESS} : 0u);
    ids.push_back(static_cast<unsigned>(ids.size()));
  }
  auto database = std::make_unique<Database>();
  hs_compile_error_t* error = nullptr;
  if (hs_compile_lit_multi(texts.data(), flags.data(), ids.data(), sizes.data(), static_cast<unsigned>(ids.size()), HS_MODE_BLOCK,
                           nullptr, &database->db, &error) != HS_SUCCESS) {
    std::string what = error == nullptr ? "out of memory" : error->message;
    hs_free_compile_error(error);
    return make_error(ErrorCode::kInternal, cat("signs: ", what));
  }
  return std::unique_ptr<LiteralDb>(new LiteralDb(std::move(database)));
}

std::unique_ptr<LiteralDb> LiteralDb::load(std::string_view bytes) {
  auto database = std::make_unique<Database>();
  if (hs_deserialize_database(bytes.data(), bytes.size(), &database->db) != HS_SUCCESS) return nullptr;
  auto loaded = std::unique_ptr<LiteralDb>(new LiteralDb(std::move(database)));
  // The processor is compared when working memory is made for it.
  return loaded->make_scratch()->get() == nullptr ? nullptr : std::move(loaded);
}

Result<std::string> LiteralDb::bytes() const {
  char* data = nullptr;
  std::size_t size = 0;
  if (hs_serialize_database(database_->db, &data, &size) != HS_SUCCESS) return make_error(ErrorCode::kInternal, "signs: cannot be kept");
  std::string out(data, size);
  std::free(data);
  return out;
}

std::shared_ptr<LiteralDb::Scratch> LiteralDb::make_scratch() const { return std::make_shared<Scratch>(database_->db); }

bool LiteralDb::scan(std::string_view text, Scratch& scratch, OnMatch* on_match, void* context) const {
  if (text.empty()) return true;
  if (scratch.get() == nullptr) return false;
  return hs_scan(database_->db, text.data(), static_cast<unsigned>(text.size()), 0, scratch.get(), on_match, context) == HS_SUCCESS;
}

}  // namespace hotcell::inspect
