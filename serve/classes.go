package serve

import (
	"encoding/json"

	"github.com/kindred-ml/kindred/internal/base/classname"
	"github.com/kindred-ml/kindred/store"
)

// keepClassTexts replaces numbers and truth values in columns of classes by their texts in the JSON object of the
// columns: a class is text, exact to the byte, and 2.10 as a number would be 2.1.
func keepClassTexts(columns map[string]any, object []byte) error {
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

// rawColumns is the field of a body that has an item's columns.
type rawColumns struct {
	Columns json.RawMessage `json:"columns"`
}

// keepItemTexts is keepClassTexts for the columns in the JSON object of an item.
func keepItemTexts(columns map[string]any, object []byte) error {
	if columns == nil {
		return nil
	}
	var of rawColumns
	if err := json.Unmarshal(object, &of); err != nil {
		return err
	}
	return keepClassTexts(columns, of.Columns)
}

// convertClasses gives the classes of items the kinds of the store's columns.
func convertClasses(items []store.Item, info *store.Info) error {
	for i := range items {
		if err := store.ConvertClasses(&items[i], info.Columns); err != nil {
			return invalid.newProblem("Send the class as the column has it, or make the index anew.", "%v", err)
		}
	}
	return nil
}
