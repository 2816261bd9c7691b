# Serves the recipe with Rails itself, on the server of Ruby's standard library.
require "logger"
require "action_controller/railtie"
require "rack/handler/webrick"

class Shop < Rails::Application
  config.root = __dir__
  config.eager_load = false
  config.consider_all_requests_local = false
  config.secret_key_base = "a test"
  config.logger = Logger.new($stderr)
  config.filter_parameters += [:data, :destination]
  config.hosts.clear
end

module ShippingEvents
  def self.handle(event)
    File.write(ENV.fetch("EVENTS"), "#{event.to_json}\n", mode: "a")
  end
end

Rails.application.initialize!
Rack::Handler::WEBrick.run(Rails.application, Host: "127.0.0.1", Port: ENV.fetch("PORT").to_i, AccessLog: [], Logger: WEBrick::Log.new($stderr, WEBrick::Log::FATAL))
