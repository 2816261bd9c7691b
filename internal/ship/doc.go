// Package ship is the vocabulary of the service: ids, money, units, addresses,
// orders, statuses and the tables that say which state may follow which. It holds pure
// data and rules; it does no I/O and keeps no state.
package ship
