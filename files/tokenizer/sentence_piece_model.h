// Text to ids as SentencePiece's library has them.
#pragma once

#include <memory>

#include "files/tokenizer/model.h"
#include "files/tokenizer/sentence_piece_file.h"

namespace onward::tokenizer {

// It normalizes, too: Encode takes text as it comes.
std::shared_ptr<const Model> MakeSentencePieceModel(SentencePieceFile file);

}  // namespace onward::tokenizer
