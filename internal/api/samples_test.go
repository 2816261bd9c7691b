package api

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSamplesCallWhatTheLibrariesHave compares the calls of the reference with the
// methods that the libraries were generated with.
func TestSamplesCallWhatTheLibrariesHave(t *testing.T) {
	t.Parallel()
	typescript := classes(t, "sdk/typescript/src/generated/resources.ts", regexp.MustCompile(`(?m)^export class (\w+)Resource \{`), regexp.MustCompile(`(?m)^  (\w+)\(`))
	python := classes(t, "sdk/python/src/waybill/_resources.py", regexp.MustCompile(`(?m)^class (\w+)Resource:`), regexp.MustCompile(`(?m)^    def (\w+)\(`))
	called := regexp.MustCompile(`waybill\.(\w+)\.(\w+)\(`)

	operations := 0
	groups, err := Reference(fileBase)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range groups {
		for _, operation := range group.Operations {
			operations++
			if len(operation.Samples) != 3 {
				t.Errorf("%s has %d samples, want 3", operation.ID, len(operation.Samples))
				continue
			}
			for i, known := range []map[string]bool{typescript, python} {
				code := operation.Samples[i].Code
				call := called.FindStringSubmatch(code)
				if call == nil || !known[strings.ReplaceAll(strings.ToLower(call[1]), "_", "")+"."+call[2]] {
					t.Errorf("%s: no such method in %s: make generate?\n%s", operation.ID, operation.Samples[i].Language, code)
				}
			}
			if !strings.Contains(operation.Samples[2].Code, `"`+operation.Method+`", "/v1/`) {
				t.Errorf("%s in Go: %s", operation.ID, operation.Samples[2].Code)
			}
		}
	}
	if operations < 50 {
		t.Errorf("only %d operations were found", operations)
	}

	page := send(New(testConfig(t)), http.MethodGet, "/docs", "", "")
	if !strings.Contains(page.Body.String(), "waybill.shipments.create(") {
		t.Error("/docs shows no call of a library")
	}
}

// classes returns the methods of a generated file, as "shipments.create".
func classes(t *testing.T, path string, class, method *regexp.Regexp) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", path))
	if err != nil {
		t.Fatal(err)
	}

	out := map[string]bool{}
	starts := class.FindAllStringSubmatchIndex(string(text), -1)
	for i, at := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		name := strings.ToLower(string(text[at[2]:at[3]]))
		for _, found := range method.FindAllStringSubmatch(string(text[at[1]:end]), -1) {
			out[name+"."+found[1]] = true
		}
	}
	return out
}
