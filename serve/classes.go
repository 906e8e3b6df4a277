package serve

import (
	"encoding/json"

	"github.com/kindred-ml/kindred/internal/base/classname"
	"github.com/kindred-ml/kindred/store"
)

// exactClasses replaces numbers and truth values in columns of classes by their texts in the JSON object of the
// columns: a class is text, exact to the byte, and 2.10 as a number would be 2.1.
func exactClasses(columns map[string]any, object []byte) error {
	var written map[string]json.RawMessage
	for _, name := range classname.Columns() {
		switch columns[name].(type) {
		case float64, bool:
			if written == nil {
				if err := json.Unmarshal(object, &written); err != nil {
					return err
				}
			}
			columns[name] = string(written[name])
		}
	}
	return nil
}

// columnsOf is the field of a body that has an item's columns.
type columnsOf struct {
	Columns json.RawMessage `json:"columns"`
}

// exactItem is exactClasses for the columns in the JSON object of an item.
func exactItem(columns map[string]any, object []byte) error {
	if columns == nil {
		return nil
	}
	var of columnsOf
	if err := json.Unmarshal(object, &of); err != nil {
		return err
	}
	return exactClasses(columns, of.Columns)
}

// fitClasses gives the classes of items the kinds of the store's columns.
func fitClasses(items []store.Item, info *store.Info) error {
	for i := range items {
		if err := store.FitClasses(&items[i], info.Columns); err != nil {
			return invalid.is("Send the class as the column has it, or make the index anew.", "%v", err)
		}
	}
	return nil
}
