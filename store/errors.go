package store

import (
	"errors"
	"fmt"

	"github.com/kindred-ml/kindred/internal/base/escape"
)

// NotFoundError is the error if no item has the id.
type NotFoundError struct{ ID string }

func (e *NotFoundError) Error() string { return "there is no item " + escape.Quote(e.ID) }

// ExistsError is the error if an item with the id exists already.
type ExistsError struct{ ID string }

func (e *ExistsError) Error() string { return "the item " + escape.Quote(e.ID) + " exists already" }

// DimensionError is the error if a vector has another length than the store's.
type DimensionError struct{ Have, Want int }

func (e *DimensionError) Error() string {
	return fmt.Sprintf("the vector has %d numbers, but the store's vectors have %d", e.Have, e.Want)
}

// FilterError is the error for an invalid filter, with its place.
type FilterError struct {
	Filter string
	// Column is the number of the first wrong character of Filter, from 1. It is 0 if the engine does not
	// support such filters.
	Column int
	Reason string
	// Texts is the column of texts that was compared with a number; "" if something else
	// is wrong.
	Texts string
}

func (e *FilterError) Error() string {
	at := ""
	if e.Column > 0 {
		at = fmt.Sprintf("column %d: ", e.Column)
	}
	return fmt.Sprintf("filter %s: %s%s", escape.Quote(e.Filter), at, e.Reason)
}

// ItemError is the error for an item that cannot be written.
type ItemError struct {
	ID  string
	Err error
}

func (e *ItemError) Error() string { return fmt.Sprintf("item %s: %v", escape.Quote(e.ID), e.Err) }
func (e *ItemError) Unwrap() error { return e.Err }

var (
	// ErrReadOnly is the error of a write to a store that is only for reading.
	ErrReadOnly = errors.New("the store is read-only")
	// ErrFull is the error if the disk has no space for a write. Nothing was written;
	// reading still works.
	ErrFull = errors.New("the disk is full")
)
