package weaviate

import (
	"testing"

	"github.com/kindred-ml/kindred/internal/format/strictjson"
	"github.com/kindred-ml/kindred/internal/test/mutations"
)

// TestMutations changes what a database answers to a query.
func TestMutations(t *testing.T) {
	mutations.Try(t, mutations.Reader{Name: "answer of Weaviate",
		Valid: []string{`{"data":{"Get":{"K":[{"` + idProp + `":"-a-","` +
			pathProp + `":"-p-","` + columnsProp +
			`":"{\"price\":2,\"label\":\"x\"}","_additional":{"id":"u","distance":0.5,` +
			`"vector":[1,2,0.5]}}]}},"errors":[{"message":"m"}]}`}, Read: func(text []byte) error {
			var answer struct {
				Data struct {
					Get map[string][]row `json:"Get"`
				} `json:"data"`
				Errors messages `json:"errors"`
			}
			if err := strictjson.Unmarshal(text, &answer); err != nil {
				return err
			}
			_ = answer.Errors.String()
			_ = errorMessage(text)
			for _, rows := range answer.Data.Get {
				for i := range rows {
					if _, _, err := rows[i].item(); err != nil {
						return err
					}
				}
			}
			return nil
		}})
}
