# Waybill on Kubernetes with a managed Postgres at AWS. An example to start from: it
# has been checked for syntax and has not been applied.
#
#   terraform init
#   terraform apply -var vpc_id=... -var 'subnet_ids=[...]' -var 'client_security_groups=[...]' \
#     -var base_url=https://ship.example.com -var image_repository=registry.example.com/waybill
#
# The state contains the passwords and the secret key: keep it encrypted.

terraform {
  required_version = ">= 1.6"
  required_providers {
    aws        = { source = "hashicorp/aws", version = ">= 5.40" }
    helm       = { source = "hashicorp/helm", version = ">= 2.12, < 3" }
    kubernetes = { source = "hashicorp/kubernetes", version = ">= 2.25" }
    random     = { source = "hashicorp/random", version = ">= 3.6" }
  }
}

variable "vpc_id" { type = string }
variable "subnet_ids" { type = list(string) }

variable "client_security_groups" {
  description = "Security groups of the cluster's nodes, which connect to Postgres."
  type        = list(string)
}

variable "base_url" {
  description = "Public https address of the service."
  type        = string
}

variable "image_repository" {
  description = "Registry and name of the image."
  type        = string
}

variable "instance_class" {
  type    = string
  default = "db.m7g.large"
}

# Passwords are part of a URL: letters and digits.
resource "random_password" "owner" {
  length  = 32
  special = false
}

resource "random_password" "serve" {
  length  = 32
  special = false
}

# Encrypts carrier credentials. If it is lost, every carrier has to be connected again.
resource "random_bytes" "secret_key" {
  length = 32
}

resource "aws_security_group" "postgres" {
  name   = "waybill-postgres"
  vpc_id = var.vpc_id
  ingress {
    from_port       = 5432
    to_port         = 5432
    protocol        = "tcp"
    security_groups = var.client_security_groups
  }
}

resource "aws_db_subnet_group" "waybill" {
  name       = "waybill"
  subnet_ids = var.subnet_ids
}

resource "aws_db_parameter_group" "waybill" {
  name   = "waybill"
  family = "postgres17"
  parameter {
    name         = "max_locks_per_transaction"
    value        = "256"
    apply_method = "pending-reboot"
  }
  parameter {
    name  = "wal_compression"
    value = "lz4"
  }
  parameter {
    name  = "rds.force_ssl"
    value = "1"
  }
}

# A synchronous standby in another zone: an acknowledged label must not be lost.
resource "aws_db_instance" "waybill" {
  identifier                = "waybill"
  engine                    = "postgres"
  engine_version            = "17"
  instance_class            = var.instance_class
  allocated_storage         = 100
  max_allocated_storage     = 1000
  storage_type              = "gp3"
  storage_encrypted         = true
  multi_az                  = true
  db_name                   = "waybill"
  username                  = "waybill"
  password                  = random_password.owner.result
  db_subnet_group_name      = aws_db_subnet_group.waybill.name
  parameter_group_name      = aws_db_parameter_group.waybill.name
  vpc_security_group_ids    = [aws_security_group.postgres.id]
  backup_retention_period   = 14
  deletion_protection       = true
  skip_final_snapshot       = false
  final_snapshot_identifier = "waybill-final"
}

locals {
  address = "${aws_db_instance.waybill.endpoint}/waybill?sslmode=require"
}

# The login that owns the tables migrates. The one that serves owns nothing; create it
# once with the password of the output serve_password, see "Separate logins" in
# docs/operations.md.
resource "kubernetes_secret" "migrate" {
  metadata { name = "waybill-migrate" }
  data = {
    MIGRATE_DATABASE_URL = "postgres://waybill:${random_password.owner.result}@${local.address}"
  }
}

resource "kubernetes_secret" "waybill" {
  metadata { name = "waybill" }
  data = {
    DATABASE_URL = "postgres://waybill_serve:${random_password.serve.result}@${local.address}"
    SECRET_KEY   = random_bytes.secret_key.base64
  }
}

resource "helm_release" "waybill" {
  name  = "waybill"
  chart = "${path.module}/../helm/waybill"
  # The copies become ready once the login waybill_serve exists, which is created
  # after the database: waiting for them would fail the first apply.
  wait = false
  values = [yamlencode({
    baseUrl        = var.base_url
    image          = { repository = var.image_repository }
    existingSecret = kubernetes_secret.waybill.metadata[0].name
    migrateSecret  = kubernetes_secret.migrate.metadata[0].name
  })]
}

output "serve_password" {
  value     = random_password.serve.result
  sensitive = true
}
