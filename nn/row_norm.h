// Rows of embedding tables that are looked up have a bounded norm.
#pragma once

#include "onward/builder.h"

namespace onward::nn {

// The norm of order `type` (any number, infinities too) over the last axis, which stays as 1.
Expr RowNorms(const Expr& rows, double type);

// The factors that bring rows whose norm is above `most` to nearly that norm; else 1.
Expr RowScales(const Expr& rows, double most, double type);

// The rows `ids` of a parameter of the model of `sink`, times RowScales, whose gradient is as if
// nothing had been scaled.
Expr BoundedLookup(GraphSink& sink, const Expr& table, const Expr& ids, double most, double type);

// The table (a parameter of a model that trains) after all lookups of it with bounded rows have
// scaled what they read, as PyTorch does it in place; not valid when there are none. Lookups in
// bodies of control flow leave it as it is.
Expr BoundedTable(GraphSink& sink, ValueId table);

}  // namespace onward::nn
