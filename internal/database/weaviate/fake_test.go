package weaviate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// fakeServer is a server of Weaviate's protocol that keeps objects in memory. It does what
// Weaviate does of the requests that the driver sends, and knows no others.
type fakeServer struct {
	mu       sync.Mutex
	classes  map[string]*collection
	requests []fakeRequest
	fault    func(w http.ResponseWriter, r *http.Request) bool // true: it has answered
}

// collection is a class with its objects by UUID.
type collection struct {
	class   class
	objects map[string]object
}

// fakeRequest is a request that came.
type fakeRequest struct{ method, path, body, key string }

// newFake returns a server and its address, HOST:PORT. It ends with the test.
func newFake(t *testing.T) (*fakeServer, string) {
	t.Helper()
	f := &fakeServer{classes: map[string]*collection{}}
	h := httptest.NewServer(f)
	t.Cleanup(h.Close)
	return f, strings.TrimPrefix(h.URL, "http://")
}

// newRequests returns the requests that came since it was called last.
func (f *fakeServer) newRequests() []fakeRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.requests
	f.requests = nil
	return out
}

// setFault lets g answer requests in place of the server; nil ends it.
func (f *fakeServer) setFault(g func(w http.ResponseWriter, r *http.Request) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = g
}

func (f *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	f.requests = append(f.requests, fakeRequest{r.Method, r.URL.String(), string(body), r.Header.Get("Authorization")})
	if f.fault != nil && f.fault(w, r) {
		return
	}
	out, status, err := f.answer(r, body)
	if err != nil {
		w.WriteHeader(status)
		out = map[string]any{"error": []any{map[string]string{"message": err.Error()}}}
	}
	json.NewEncoder(w).Encode(out)
}

func (f *fakeServer) answer(r *http.Request, body []byte) (out any, status int, err error) {
	missing := fmt.Errorf("there is no %s", r.URL.Path)
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/v1/"), "/")
	var of *collection
	if len(parts) > 1 {
		of = f.classes[parts[1]]
	}
	read := func(to any) {
		if err = json.Unmarshal(body, to); err != nil {
			status = http.StatusBadRequest
		}
	}
	switch {
	case r.Method+" "+parts[0] == "POST schema" && len(parts) == 1:
		var c class
		if read(&c); f.classes[c.Class] != nil {
			return nil, http.StatusUnprocessableEntity, fmt.Errorf("class name %s already exists", c.Class)
		}
		f.classes[c.Class] = &collection{c, map[string]object{}}
	case parts[0] == "graphql":
		var q struct {
			Query string `json:"query"`
		}
		read(&q)
		data, err := f.graph(q.Query)
		if err != nil {
			return map[string]any{"errors": []any{map[string]string{"message": err.Error()}}}, 0, nil
		}
		return map[string]any{"data": data}, 0, nil
	case r.Method+" "+r.URL.Path == "POST /v1/batch/objects":
		var b struct{ Objects []object }
		read(&b)
		return f.write(b.Objects), status, err
	case r.Method+" "+r.URL.Path == "DELETE /v1/batch/objects":
		var b deletion
		read(&b)
		n, err := f.remove(b)
		return map[string]any{"results": map[string]int{"matches": n}}, http.StatusUnprocessableEntity, err
	case of == nil:
		return nil, http.StatusNotFound, missing
	case parts[0] == "schema" && r.Method == http.MethodGet:
		return of.class, 0, nil
	case parts[0] == "schema" && len(parts) == 3:
		var p property
		read(&p)
		of.class.Properties = append(of.class.Properties, p)
	case parts[0] == "objects" && r.Method == http.MethodGet:
		o, ok := of.objects[parts[2]]
		if !ok {
			return nil, http.StatusNotFound, missing
		}
		return o, 0, nil
	default:
		return nil, http.StatusNotFound, missing
	}
	return map[string]any{}, status, err
}

// write keeps objects, without the spaces at both ends of their texts.
func (f *fakeServer) write(objects []object) []any {
	out := []any{}
	for _, o := range objects {
		result := map[string]any{}
		of, props := f.classes[o.Class], map[string]bool{}
		if of != nil {
			for _, p := range of.class.Properties {
				props[p.Name] = true
			}
		}
		for name, v := range o.Properties {
			if !props[name] {
				result["errors"] = map[string]any{"error": []any{map[string]string{"message": "no property " + name}}}
			}
			if s, ok := v.(string); ok {
				o.Properties[name] = strings.TrimSpace(s)
			}
		}
		if result["errors"] == nil {
			of.objects[o.ID] = o
		}
		out = append(out, map[string]any{"id": o.ID, "result": result})
	}
	return out
}

// deletion is the body of a request that removes objects.
type deletion struct {
	Match struct {
		Class string
		Where struct {
			Path           []string
			Operator       string
			ValueTextArray []any
		}
	}
}

func (f *fakeServer) remove(d deletion) (int, error) {
	n, of, w := 0, f.classes[d.Match.Class], d.Match.Where
	if of == nil {
		return 0, fmt.Errorf("no class %q", d.Match.Class)
	}
	where := map[string]any{"path": []any{w.Path[0]}, "operator": w.Operator, "valueText": w.ValueTextArray}
	for id, o := range of.objects {
		yes, err := of.passes(where, o)
		if err != nil {
			return n, err
		}
		if yes {
			delete(of.objects, id)
			n++
		}
	}
	return n, nil
}

// graph answers a query.
func (f *fakeServer) graph(text string) (any, error) {
	c, err := parse(text)
	if err != nil {
		return nil, err
	}
	of := f.classes[c.class]
	if of == nil {
		return nil, fmt.Errorf("no class %s", c.class)
	}
	if factor, _ := of.class.Replication["factor"].(float64); c.arguments["consistencyLevel"] != nil && factor < 2 {
		return nil, fmt.Errorf("unknown argument consistencyLevel")
	}
	var found []object
	for _, id := range slices.Sorted(maps.Keys(of.objects)) {
		if after, _ := c.arguments["after"].(string); id <= after {
			continue
		}
		yes, err := true, error(nil)
		if where, ok := c.arguments["where"].(map[string]any); ok {
			yes, err = of.passes(where, of.objects[id])
		}
		if err != nil {
			return nil, err
		}
		if yes {
			found = append(found, of.objects[id])
		}
	}
	if c.verb == "Aggregate" {
		return map[string]any{"Aggregate": map[string]any{c.class: []any{
			map[string]any{"meta": map[string]int{"count": len(found)}}}}}, nil
	}
	return map[string]any{"Get": map[string]any{c.class: of.rows(c, found)}}, nil
}

// rows orders what was found, and says of it what a query wants.
func (k *collection) rows(c call, found []object) []any {
	distance := map[string]float64{}
	if near, ok := c.arguments["nearVector"].(map[string]any); ok {
		for _, o := range found {
			distance[o.ID] = k.distance(near["vector"].([]any), o.Vector)
		}
		found = slices.DeleteFunc(found, func(o object) bool { return o.Vector == nil })
		slices.SortStableFunc(found, func(a, b object) int { return cmp.Compare(distance[a.ID], distance[b.ID]) })
	}
	if sort, ok := c.arguments["sort"].([]any); ok {
		path := sort[0].(map[string]any)["path"].([]any)[0].(string)
		slices.SortStableFunc(found, func(a, b object) int {
			return strings.Compare(strings.ToLower(a.Properties.text(path)), strings.ToLower(b.Properties.text(path)))
		})
	}
	found = found[:min(int(c.arguments["limit"].(float64)), len(found))]
	plain, additional, _ := strings.Cut(strings.TrimSuffix(c.fields, "}"), "_additional{")
	out := []any{}
	for _, o := range found {
		row, extra := map[string]any{}, map[string]any{}
		for _, name := range strings.Fields(plain) {
			row[name] = o.Properties[name]
		}
		for _, name := range strings.Fields(additional) {
			extra[name] = map[string]any{"id": o.ID, "distance": distance[o.ID], "vector": o.Vector}[name]
		}
		row["_additional"] = extra
		out = append(out, row)
	}
	return out
}

func (k *collection) distance(q []any, v []float32) float64 {
	var square, product, qq, vv float64
	for i := range v {
		a, b := q[i].(float64), float64(v[i])
		square, product, qq, vv = square+(a-b)*(a-b), product+a*b, qq+a*a, vv+b*b
	}
	switch k.class.Index["distance"] {
	case "cosine":
		return 1 - product/math.Sqrt(qq*vv)
	case "dot":
		return 0 - product
	}
	return square
}

// passes tells whether an object passes a filter. One of a property that the class does
// not have, or of another type, is an error.
func (k *collection) passes(where map[string]any, o object) (bool, error) {
	operator, _ := where["operator"].(string)
	if operands, ok := where["operands"].([]any); ok {
		some, all := false, true
		for _, one := range operands {
			yes, err := k.passes(one.(map[string]any), o)
			if err != nil {
				return false, err
			}
			some, all = some || yes, all && yes
		}
		return operator == "And" && all || operator == "Or" && some, nil
	}
	path := where["path"].([]any)[0].(string)
	at := slices.IndexFunc(k.class.Properties, func(p property) bool { return p.Name == path })
	if at < 0 || !k.class.Properties[at].Filterable {
		return false, fmt.Errorf("no filter of property %s", path)
	}
	argument := map[string]string{"text": "valueText", "text[]": "valueText", "number": "valueNumber",
		"boolean": "valueBoolean"}[k.class.Properties[at].DataType[0]]
	want, ok := where[argument]
	if !ok {
		return false, fmt.Errorf("property %s wants %s", path, argument)
	}
	return compareValue(operator, o.Properties[path], want)
}

// compareValue is a comparison of a value, or of one of a list of values, with what a filter
// wants. NotEqual is true of what is missing as well.
func compareValue(operator string, have, want any) (bool, error) {
	if s, ok := want.(string); ok {
		want = strings.TrimSpace(s)
	}
	if list, ok := want.([]any); ok && operator == "ContainsAny" {
		return slices.Contains(list, have), nil
	}
	list, ok := have.([]any)
	if !ok && have != nil {
		list = []any{have}
	}
	switch operator {
	case "Equal":
		return slices.Contains(list, want), nil
	case "NotEqual":
		return !slices.Contains(list, want), nil
	}
	if len(list) != 1 {
		return false, nil
	}
	var order int
	switch w := want.(type) {
	case float64:
		order = cmp.Compare(list[0].(float64), w)
	case string:
		order = cmp.Compare(list[0].(string), w)
	}
	switch operator {
	case "LessThan":
		return order < 0, nil
	case "LessThanEqual":
		return order <= 0, nil
	case "GreaterThan":
		return order > 0, nil
	case "GreaterThanEqual":
		return order >= 0, nil
	}
	return false, fmt.Errorf("no operator %s", operator)
}
