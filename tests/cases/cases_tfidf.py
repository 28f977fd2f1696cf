"""TfIdfVectorizer."""
from case import case, i32, i64, join, text


def cases():
    return join(
        case(
            "bigrams", "TfIdfVectorizer", [i32([1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8])], max_gram_length=2,
            max_skip_count=0, min_gram_length=2, mode="TF", ngram_counts=[0, 4],
            ngram_indexes=[0, 1, 2, 3, 4, 5, 6], pool_int64s=[2, 3, 5, 4, 5, 6, 7, 8, 6, 7],
        ),
        case(
            "bigrams_skip", "TfIdfVectorizer", [i32([1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8])], max_gram_length=2,
            max_skip_count=5, min_gram_length=2, mode="TF", ngram_counts=[0, 4],
            ngram_indexes=[0, 1, 2, 3, 4, 5, 6], pool_int64s=[2, 3, 5, 4, 5, 6, 7, 8, 6, 7],
        ),
        case(
            "one_and_two", "TfIdfVectorizer", [i32([1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8])], max_gram_length=2,
            max_skip_count=5, min_gram_length=1, mode="TF", ngram_counts=[0, 4],
            ngram_indexes=[0, 1, 2, 3, 4, 5, 6], pool_int64s=[2, 3, 5, 4, 5, 6, 7, 8, 6, 7],
        ),
        case(
            "batch", "TfIdfVectorizer", [i32([[1, 1, 3, 3, 3, 7], [8, 6, 7, 5, 6, 8]])], max_gram_length=2,
            max_skip_count=5, min_gram_length=1, mode="TF", ngram_counts=[0, 4],
            ngram_indexes=[0, 1, 2, 3, 4, 5, 6], pool_int64s=[2, 3, 5, 4, 5, 6, 7, 8, 6, 7],
        ),
        case(
            "int64_idf", "TfIdfVectorizer", [i64([1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8])], max_gram_length=2,
            max_skip_count=0, min_gram_length=1, mode="IDF", ngram_counts=[0, 4],
            ngram_indexes=[0, 1, 2, 3, 4, 5, 6], pool_int64s=[2, 3, 5, 4, 5, 6, 7, 8, 6, 7],
            weights=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
        ),
        case(
            "tfidf_weights", "TfIdfVectorizer", [i32([1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8])], max_gram_length=2,
            max_skip_count=2, min_gram_length=1, mode="TFIDF", ngram_counts=[0, 4],
            ngram_indexes=[0, 1, 2, 3, 4, 5, 6], pool_int64s=[2, 3, 5, 4, 5, 6, 7, 8, 6, 7],
            weights=[1.0, 0.5, 3.0, 4.0, 5.0, 6.0, 7.0],
        ),
        case(
            "tfidf_no_weights", "TfIdfVectorizer", [i32([1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8])], max_gram_length=2,
            max_skip_count=0, min_gram_length=2, mode="TFIDF", ngram_counts=[0, 4],
            ngram_indexes=[0, 1, 2, 3, 4, 5, 6], pool_int64s=[2, 3, 5, 4, 5, 6, 7, 8, 6, 7], by="onnxruntime",
        ),
        case(
            "no_unigrams_in_pool", "TfIdfVectorizer", [i32([1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8])],
            max_gram_length=2, max_skip_count=0, min_gram_length=2, mode="TF", ngram_counts=[0, 0],
            ngram_indexes=[0, 1, 2], pool_int64s=[5, 6, 7, 8, 6, 7],
        ),
        case(
            "strings", "TfIdfVectorizer", [text(["a", "b", "c", "a", "b"])], max_gram_length=2, max_skip_count=0,
            min_gram_length=1, mode="TF", ngram_counts=[0, 2], ngram_indexes=[1, 0, 2],
            pool_strings=["a", "b", "a", "b"],
        ),
        case(
            "no_tokens", "TfIdfVectorizer", [text([[], []])], max_gram_length=2, max_skip_count=0,
            min_gram_length=1, mode="TF", ngram_counts=[0, 2], ngram_indexes=[1, 0, 2],
            pool_strings=["a", "b", "a", "b"],
        ),
    )
