package store

import (
	"errors"
	"fmt"

	"github.com/kindred-ml/kindred/internal/base/escape"
)

// NotFoundError says that no item has the id.
type NotFoundError struct{ ID string }

func (e *NotFoundError) Error() string { return "there is no item " + escape.Quote(e.ID) }

// ExistsError says that an item with the id exists already.
type ExistsError struct{ ID string }

func (e *ExistsError) Error() string { return "there is an item " + escape.Quote(e.ID) + " already" }

// DimensionError says that a vector has another length than the store's.
type DimensionError struct{ Have, Want int }

func (e *DimensionError) Error() string {
	return fmt.Sprintf("a vector of %d numbers, and those of the store have %d", e.Have, e.Want)
}

// FilterError says what is wrong with a filter and where.
type FilterError struct {
	Filter string
	// Column counts the characters of Filter up to what is wrong, from 1; 0: the engine has
	// no such filters.
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

// ItemError says what is wrong with an item to be written.
type ItemError struct {
	ID  string
	Err error
}

func (e *ItemError) Error() string { return fmt.Sprintf("item %s: %v", escape.Quote(e.ID), e.Err) }
func (e *ItemError) Unwrap() error { return e.Err }

var (
	// ErrReadOnly is the error of a write to a store that is only for reading.
	ErrReadOnly = errors.New("the store is read-only")
	// ErrFull says that the disk has no room for a write. Nothing of it was
	// written; reading still works.
	ErrFull = errors.New("the disk is full")
)
