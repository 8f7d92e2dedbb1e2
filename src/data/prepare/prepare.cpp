#include "trireme/data/prepare.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "trireme/base/log.hpp"
#include "trireme/base/text.hpp"
#include "trireme/base/timer.hpp"
#include "trireme/base/units.hpp"
#include "trireme/io/file.hpp"
#include "trireme/text/tokenizer.hpp"

#include "data/format.hpp"
#include "data/prepare/assemble.hpp"
#include "data/prepare/ids_corpus.hpp"
#include "data/prepare/options.hpp"
#include "data/prepare/part.hpp"
#include "data/prepare/text_corpus.hpp"
#include "data/prepare/tokenizer_choice.hpp"

namespace trireme::data {
namespace {

/// What the ranks need to make parts.
struct Work {
  std::unique_ptr<Corpus> corpus;
  std::unique_ptr<text::Tokenizer> tokenizer;
};

/// Calls `work(piece)` for this rank's share of the pieces, in rounds so that all ranks stop soon after one fails.
template <class PieceWork>
void share_pieces(comm::Communicator& communicator, std::int64_t num_pieces, const PieceWork& work) {
  for (std::int64_t first = 0; first < num_pieces; first += communicator.size()) {
    comm::on_all(communicator, [&] {
      const std::int64_t piece = first + communicator.rank();
      if (piece < num_pieces) work(piece);
    });
  }
}

/// The largest id of all inputs, plus one.
std::int64_t find_vocab(comm::Communicator& communicator, const Corpus& corpus) {
  std::int32_t largest = 0;
  share_pieces(communicator, corpus.num_pieces(), [&](std::int64_t number) {
    const Piece piece = corpus.read(number);
    for (std::size_t at = 0; at < piece.bytes.size(); at += sizeof(std::int32_t)) {
      std::int32_t id = 0;
      std::memcpy(&id, piece.bytes.data() + at, sizeof(id));
      largest = std::max(largest, id);
    }
  });
  return static_cast<std::int64_t>(communicator.all_reduce_max(static_cast<double>(largest))) + 1;
}

Work plan_ids(comm::Communicator& communicator, const PrepareOptions& options) {
  Work work;
  comm::on_all(communicator, [&] { work.corpus = std::make_unique<IdsCorpus>(options); });
  const std::int64_t vocab = options.vocab > 0 ? options.vocab : find_vocab(communicator, *work.corpus);
  work.tokenizer = text::make_tokenizer("ids", std::to_string(vocab));
  return work;
}

/// The model that rank 0 makes, on all ranks.
template <class MakeModel>
std::string make_on_root(comm::Communicator& communicator, const MakeModel& make_model) {
  std::string model;
  comm::on_root(communicator, [&] { model = make_model(); });
  communicator.broadcast_text(model, 0);
  return model;
}

Work plan_text(comm::Communicator& communicator, const PrepareOptions& options) {
  constexpr std::int64_t most_training_bytes = std::int64_t{64} << 20;
  const bool is_byte = options.tokenizer == "byte";
  const bool trains = !is_byte && options.model.empty();
  Work work;
  if (!trains) {
    const std::string model =
        make_on_root(communicator, [&] { return is_byte ? std::string() : load_sentencepiece_model(options.model); });
    comm::on_all(communicator, [&] { work.tokenizer = text::make_tokenizer(options.tokenizer, model); });
  }
  const text::Cuts cuts = trains ? text::Cuts::after_newlines : work.tokenizer->cuts();
  std::unique_ptr<TextCorpus> corpus;
  comm::on_all(communicator, [&] { corpus = std::make_unique<TextCorpus>(options, cuts, !is_byte); });
  if (trains) {
    const std::string model = make_on_root(communicator, [&] {
      return text::train_sentencepiece(training_lines(*corpus, most_training_bytes), options.vocab);
    });
    comm::on_all(communicator, [&] { work.tokenizer = text::make_tokenizer(options.tokenizer, model); });
  }
  work.corpus = std::move(corpus);
  return work;
}

/// Names all that a part is made of: the piece and how it is tokenized.
io::Hash128 origin_of(const Piece& piece, const text::Tokenizer& tokenizer) {
  const std::string head = fmt::format("{} {} {} {} {}\n", tokenizer.kind(), tokenizer.vocab(),
                                       tokenizer.model().size(), piece.bytes.size(), piece.documents.size());
  io::Hasher hasher;
  hasher.add(head.data(), head.size());
  hasher.add(tokenizer.model().data(), tokenizer.model().size());
  hasher.add(piece.bytes.data(), piece.bytes.size());
  hasher.add(piece.documents.data(), piece.documents.size() * sizeof(std::int64_t));
  return hasher.value();
}

/// Makes part number `piece` at `path` unless it is there already; true if it was.
bool make_part(const Work& work, std::int64_t number, const std::string& path) {
  const Piece piece = work.corpus->read(number);
  const io::Hash128 origin = origin_of(piece, *work.tokenizer);
  if (is_part(path, origin)) return true;
  const Dtype dtype = token_dtype(work.tokenizer->vocab());
  const bool ready_ids = work.tokenizer->kind() == "ids";
  write_part(path, ready_ids ? narrow_ids(piece, dtype) : tokenize(piece, *work.tokenizer, dtype), origin);
  return false;
}

std::vector<std::string> part_paths(const std::string& folder, std::int64_t num_parts) {
  std::vector<std::string> paths;
  for (std::int64_t part = 0; part < num_parts; ++part) paths.push_back(fmt::format("{}/part_{:05}", folder, part));
  return paths;
}

/// Joins the parts under a name of their own and gives the whole file its name at last.
TokenFileInfo publish(const PrepareOptions& options, const Work& work, const std::string& folder,
                      const std::vector<std::string>& paths) {
  TokenFileInfo info;
  info.path = folder + "/whole.h5";
  info.vocab = work.tokenizer->vocab();
  info.has_sequence_starts = options.sequence_starts;
  info.tokenizer_kind = work.tokenizer->kind();
  info.tokenizer_model = work.tokenizer->model();
  assemble(paths, options.mask, info);
  io::rename(info.path, options.output);
  io::sync_folder(io::parent_of(options.output));
  io::remove_tree(folder);
  return info;
}

void report(const PrepareOptions& options, const Work& work, const TokenFileInfo& info, std::int64_t reused,
            double seconds) {
  if (reused > 0) log::info("{} of {} parts were there from an interrupted run", reused, work.corpus->num_pieces());
  log::info("{}: {} in {}, vocabulary {} (`{}`), {:.3f} bytes per token, {}", options.output,
            counted(static_cast<std::uint64_t>(info.num_tokens), "token"),
            counted(static_cast<std::uint64_t>(info.num_documents), "document"), info.vocab, info.tokenizer_kind,
            static_cast<double>(work.corpus->num_bytes()) / static_cast<double>(info.num_tokens),
            format_seconds(seconds));
}

}  // namespace

void prepare(comm::Communicator& communicator, const PrepareOptions& options) {
  const Timer timer;
  comm::on_root(communicator, [&] { check(options); });
  const Work work = options.tokenizer == "ids" ? plan_ids(communicator, options) : plan_text(communicator, options);

  const std::string folder = options.output + ".parts";
  const std::vector<std::string> paths = part_paths(folder, work.corpus->num_pieces());
  comm::on_root(communicator, [&] { io::make_folders(folder); });
  std::int64_t reused = 0;
  share_pieces(communicator, work.corpus->num_pieces(), [&](std::int64_t piece) {
    reused += make_part(work, piece, paths[static_cast<std::size_t>(piece)]) ? 1 : 0;
  });
  reused = communicator.all_reduce_sum(reused);
  comm::on_root(communicator, [&] {
    const TokenFileInfo info = publish(options, work, folder, paths);
    report(options, work, info, reused, timer.seconds());
  });
}

}  // namespace trireme::data
