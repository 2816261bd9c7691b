package app

import (
	"fmt"
	"strings"
)

// Roles are what a copy of the program does.
type Roles struct {
	API    bool // answers the API
	Worker bool // works on jobs
	Web    bool // serves the dashboard
}

// AllRoles is a copy that does everything.
var AllRoles = Roles{API: true, Worker: true, Web: true}

// ParseRoles reads roles that are separated by commas.
func ParseRoles(list string) (Roles, error) {
	var roles Roles
	for name := range strings.SplitSeq(list, ",") {
		switch strings.TrimSpace(name) {
		case "api":
			roles.API = true
		case "worker":
			roles.Worker = true
		case "web":
			roles.Web = true
		default:
			return roles, fmt.Errorf("there is no role %q: choose from api, worker and web", strings.TrimSpace(name))
		}
	}
	return roles, nil
}

func (r Roles) String() string {
	var names []string
	for _, role := range []struct {
		name string
		has  bool
	}{{"api", r.API}, {"worker", r.Worker}, {"web", r.Web}} {
		if role.has {
			names = append(names, role.name)
		}
	}
	return strings.Join(names, ",")
}
