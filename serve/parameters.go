package serve

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/escape"
)

// parameterAdvice is the advice for a parameter that cannot be read.
const parameterAdvice = "GET /openapi.json describes the parameters."

// checkParameters refuses unknown parameters. With a misspelt filter, all items would be listed; with a misspelt
// collection, items of another one would be removed. Probes and monitors may send any parameters.
func (rt *route) checkParameters(r *http.Request) error {
	if !strings.Contains(rt.pattern, " /v1/") || r.URL.RawQuery == "" {
		return nil
	}
	takes := append([]string{"collection"}, rt.parameterNames...)
	q := r.URL.Query()
	for _, name := range slices.Sorted(maps.Keys(q)) {
		if !slices.Contains(takes, name) {
			return badRequest.newProblem(parameterAdvice, "unknown parameter %q: must be one of %s",
				escape.ClipTo(name, 64),
				strings.Join(takes, ", "))
		}
		if name != "id" && len(q[name]) > 1 {
			return badRequest.newProblem(parameterAdvice, "the parameter %s is given %d times", name, len(q[name]))
		}
	}
	return nil
}
