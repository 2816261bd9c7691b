-- +goose Up

-- Files that clients add to a shipment lie beside the documents of its carrier, from
-- position 100 on, and are kept, erased and dropped with them. The types of those that a
-- shipment has are in its state, so that reading a shipment needs no other table.
ALTER TABLE shipment_states ADD COLUMN uploads text[];
